"""Decoding against prefill: every split, every form, shared and reserved caches."""

import itertools
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
)
from tests.engine.samples import YARN, grouped_configs, hidden, latent_configs, randomized

TOKENS = 12
MLA = LatentConfig(
    d_model=10,
    n_heads=3,
    d_head=4,
    d_latent_kv=5,
    d_rope=4,
    d_value=6,
    d_latent_q=7,
    latent_norm=True,
    kv_latent_scale=1.7,
    bias=True,
    rope=RopeConfig(scaling=YARN),
)
PLAIN_MLA = LatentConfig(d_model=10, n_heads=3, d_head=4, d_latent_kv=5)
GQA = GroupedConfig(
    d_model=10,
    n_heads=4,
    n_kv_heads=2,
    d_head=4,
    d_value=6,
    rope=RopeConfig(pairing="half"),
    bias=True,
    qk_norm=True,
    logit_softcap=2.0,
)
WINDOW = GroupedConfig(d_model=10, n_heads=4, n_kv_heads=1, d_head=4, sliding_window=3)


@dataclass(frozen=True)
class Way:
    """A layer, the cache it decodes with and the form."""

    config: object
    cache: type
    form: str | None = None

    def layer(self, dtype=torch.float64):
        latent = isinstance(self.config, LatentConfig)
        kind = MultiHeadLatentAttention if latent else GroupedQueryAttention
        return randomized(kind(self.config, seed=2, dtype=dtype))

    def empty(self, batch=2, capacity=None, dtype=torch.float64):
        return self.cache.empty(self.config, batch=batch, dtype=dtype, capacity=capacity)

    def step(self, layer, h, cache):
        form = {"form": self.form} if self.form else {}
        return layer.decode(h, cache, **form)

    def per_token(self):
        """Elements that the formulas keep for one token."""
        c = self.config
        if self.cache is LatentCache:
            return c.d_latent_kv + c.d_rope
        if isinstance(c, LatentConfig):
            return c.n_heads * (c.d_head + c.d_rope + c.d_value)
        return c.n_kv_heads * (c.d_head + c.d_value)


WAYS = {
    "latent, absorbed": Way(MLA, LatentCache, "absorbed"),
    "latent, default": Way(PLAIN_MLA, LatentCache),
    "latent, expanded each step": Way(MLA, LatentCache, "expanded"),
    "keys and values of MLA": Way(MLA, KVCache, "expanded"),
    "keys and values of MLA, default": Way(PLAIN_MLA, KVCache),
    "grouped": Way(GQA, KVCache),
    "grouped, window": Way(WINDOW, KVCache),
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
ROOM = {"growing": None, "reserved": 16}
rooms = pytest.mark.parametrize("capacity", ROOM.values(), ids=ROOM)
QUERY_FIELDS = ("h", "c_Q", "q_C", "q_R", "q_C_absorbed", "q_pre", "q", "o_latent", "o", "u")
MAPS = ("attention", "scores", "scores_C", "scores_R")


def poisoned(cache):
    """The cache with NaN in every row that holds no token."""
    for buffer in cache.buffers.values():
        buffer[:, cache.length :] = torch.nan
    return cache


def close(got, wanted, name=""):
    torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12, msg=lambda m: f"{name}: {m}")


def assert_rows_of(trace, full, first, last):
    """The step's trace holds rows first to last of the full run, over the keys seen so far."""
    rows = slice(first, last)
    for name in QUERY_FIELDS:
        if getattr(trace, name, None) is not None and hasattr(full, name):
            close(getattr(trace, name), getattr(full, name)[:, rows], name)
    for name in MAPS:
        if getattr(trace, name, None) is not None:
            close(getattr(trace, name), getattr(full, name)[:, :, rows, :last], name)
    assert torch.equal(trace.mask, full.mask[rows, :last])


@rooms
@ways
def test_every_split_equals_prefill(way, capacity):
    layer, h = way.layer(), hidden(2, TOKENS, 10)
    full = layer(h)
    for split in range(1, TOKENS):
        first, cache = way.step(layer, h[:, :split], poisoned(way.empty(capacity=capacity)))
        rest, cache = way.step(layer, h[:, split:], cache)
        assert_rows_of(first, full, 0, split)
        assert_rows_of(rest, full, split, TOKENS)
        assert cache.length == TOKENS


@rooms
@ways
@pytest.mark.parametrize("chunk", [1, 5])
def test_token_by_token_equals_prefill(way, capacity, chunk):
    layer, h = way.layer(), hidden(2, TOKENS, 10)
    full, cache = layer(h), poisoned(way.empty(capacity=capacity))
    for start in range(0, TOKENS, chunk):
        new = h[:, start : start + chunk]
        trace, cache = way.step(layer, new, cache)
        assert_rows_of(trace, full, start, start + new.shape[1])


@ways
def test_fields_of_a_step_cover_what_the_contract_says(way):
    """New tokens in what is computed from h; all keys in what attention reads."""
    layer, h = way.layer(), hidden(2, TOKENS, 10)
    full = layer(h)
    _, cache = way.step(layer, h[:, :7], way.empty())
    trace, cache = way.step(layer, h[:, 7:], cache)
    new = ["c_KV_pre", "k_R_pre", "k_pre"]
    everything = ["k_C", "v_C", "k", "v"]
    (everything if way.cache is LatentCache else new).extend(["c_KV", "k_R"])
    for names, rows in ((new, slice(7, None)), (everything, slice(None))):
        for name in names:
            wanted = getattr(full, name, None)
            if name in trace.steps and wanted is not None:
                close(getattr(trace, name), wanted[:, rows], name)
    if way.cache is LatentCache:
        close(cache.c_KV, full.c_KV)
        assert (cache.k_R is None) == (way.config.d_rope == 0)


@rooms
@ways
def test_continuations_do_not_disturb_each_other(way, capacity):
    layer, h = way.layer(), hidden(2, 6, 10)
    others = [hidden(2, 4, 10, seed=seed) for seed in (7, 8)]
    _, stem = way.step(layer, h, poisoned(way.empty(capacity=capacity)))
    kept = {name: buffer[:, :6].clone() for name, buffer in stem.buffers.items()}
    wanted = [layer(torch.cat((h, other), dim=1)) for other in others]
    branches = [stem, stem]
    for token in range(4):  # in turns, so that each could overwrite the other
        for i, other in enumerate(others):
            trace, branches[i] = way.step(layer, other[:, token : token + 1], branches[i])
            assert_rows_of(trace, wanted[i], 6 + token, 7 + token)
    assert stem.length == 6
    for name, rows in kept.items():
        assert torch.equal(stem.buffers[name][:, :6], rows)
    again, _ = way.step(layer, others[0], stem)
    assert_rows_of(again, wanted[0], 6, 10)


@ways
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_bytes_are_those_of_the_elements(way, dtype):
    layer, per_token = way.layer(dtype), 2 * way.per_token() * dtype.itemsize
    cache = way.empty(capacity=16, dtype=dtype)
    assert (cache.length, cache.nbytes, cache.reserved_nbytes) == (0, 0, 16 * per_token)
    _, cache = way.step(layer, hidden(2, 5, 10, dtype=dtype), cache)
    assert (cache.length, cache.nbytes) == (5, 5 * per_token)
    assert cache.reserved_nbytes == 16 * per_token
    assert sum(b.numel() * b.element_size() for b in cache.buffers.values()) == 16 * per_token
    _, grown = way.step(layer, hidden(2, 5, 10, dtype=dtype), way.empty(dtype=dtype))
    assert grown.nbytes == grown.reserved_nbytes == 5 * per_token


def test_compress_holds_the_normed_and_scaled_latent_and_the_rotated_key():
    way = WAYS["latent, absorbed"]
    layer, h = way.layer(), hidden(2, 5, 10)
    full, latents = layer(h), layer.compress(h)
    assert isinstance(latents, LatentCache)
    assert latents.length == 5
    close(latents.c_KV, full.c_KV)
    close(latents.k_R, full.k_R)
    pre = full.c_KV_pre
    normed = pre * (pre.square().mean(-1, keepdim=True) + MLA.norm_eps).rsqrt()
    close(latents.c_KV, normed * layer.c_KV_norm * 1.7)


@ways
def test_a_layer_of_some_heads_decodes_them(way):
    latent = isinstance(way.config, LatentConfig)
    kind = MultiHeadLatentAttention if latent else GroupedQueryAttention
    layer = kind(way.config, heads=[2, 0], dtype=torch.float64)
    h, held = hidden(2, TOKENS, 10), {}
    if way.cache is KVCache:
        held["n_kv_heads"] = 2 if latent else len(layer.kv_heads)
    cache = KVCache.empty if held else LatentCache.empty
    cache = cache(way.config, batch=2, dtype=torch.float64, **held)
    full = layer(h)
    for rows in (slice(0, 5), slice(5, None)):
        trace, cache = way.step(layer, h[:, rows], cache)
        close(trace.u, full.u[:, rows])


@ways
def test_positions_continue_from_the_cache_or_are_given(way):
    layer, h = way.layer(), hidden(2, TOKENS, 10)
    positions = torch.arange(40, 40 + TOKENS)
    form = {"form": way.form} if way.form else {}
    full, cache = layer(h, positions=positions), way.empty()
    for rows in (slice(0, 5), slice(5, 6), slice(6, None)):
        trace, cache = layer.decode(h[:, rows], cache, positions=positions[rows], **form)
        close(trace.u, full.u[:, rows])


@settings(max_examples=40, derandomize=True, deadline=None)
@given(config=latent_configs() | grouped_configs(), cuts=st.sets(st.integers(1, 6)))
def test_drawn_configurations_decode_as_they_prefill(config, cuts):
    latent = isinstance(config, LatentConfig)
    h, edges = hidden(2, 7, config.d_model), [0, *sorted(cuts), 7]
    for cache in (LatentCache, KVCache) if latent else (KVCache,):
        way = Way(config, cache)
        layer, held = way.layer(), poisoned(way.empty(capacity=9))
        full = layer(h)
        for first, last in itertools.pairwise(edges):
            trace, held = way.step(layer, h[:, first:last], held)
            assert_rows_of(trace, full, first, last)
