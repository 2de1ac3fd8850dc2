"""Decoding over a window and pooled entries against its prefill: every cut, real caches."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._pytree import tree_map

from mla_engine import (
    KVCache,
    LatentConfig,
    PooledAttention,
    PooledCache,
    RopeConfig,
    budget,
)
from mla_engine.budget import MemoryBudgetError
from tests.engine.pooled_samples import CSA, HCA, KINDS, SWA, layer_of, pooled_configs
from tests.engine.samples import hidden, refused
from tests.engine.test_budget import LiveBytes
from tests.engine.test_compiled import assert_same, in_one_graph
from tests.engine.test_longrope import SCALING

TOKENS = 13
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
MLA = LatentConfig(d_model=10, n_heads=4, d_head=4, d_latent_kv=5)
kinds = pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)


def decoded(layer, h, lengths):
    """The traces of all tokens, decoded in pieces of these lengths, and the cache."""
    cache, traces = PooledCache.empty(layer.config, len(h), layer.dtype), []
    for piece in h.split(lengths, dim=1):
        trace, cache = layer.decode(piece, cache)
        traces.append(trace)
    return traces, cache


def assert_equals_prefill(traces, cache, whole, lengths):
    """u and what each query attends to, and what is kept."""
    ends = torch.tensor([0, *lengths]).cumsum(0).tolist()
    for trace, (first, last) in zip(traces, pairwise(ends), strict=True):
        torch.testing.assert_close(trace.u, whole.u[:, first:last], **CLOSE)
        torch.testing.assert_close(trace.sink_mass, whole.sink_mass[:, :, first:last], **CLOSE)
        seen = trace.attention.shape[-1]
        wanted = whole.attention[:, :, first:last, last - seen : last]
        torch.testing.assert_close(trace.attention, wanted, **CLOSE)
        if trace.kv_E is not None:
            entries = trace.kv_E.shape[1]
            assert torch.equal(trace.chosen_E, whole.chosen_E[:, first:last, :entries])
            wanted = whole.attention_E[:, :, first:last, :entries]
            torch.testing.assert_close(trace.attention_E, wanted, **CLOSE)
    for name in ("kv_E", "k_E"):
        if getattr(whole, name) is not None:
            torch.testing.assert_close(getattr(cache, name), getattr(whole, name), **CLOSE)


@kinds
@pytest.mark.parametrize("cut", range(1, TOKENS))
def test_every_cut_gives_what_prefill_gives(config, cut):
    layer, h = layer_of(config), hidden(2, TOKENS, 10)
    traces, cache = decoded(layer, h, [cut, TOKENS - cut])
    whole = layer(h)
    assert_equals_prefill(traces, cache, whole, [cut, TOKENS - cut])
    assert traces[0].steps == traces[1].steps == whole.steps


@settings(max_examples=25, deadline=None)
@given(config=pooled_configs(), cuts=st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_any_configuration_decodes_as_it_prefills(config, cuts):
    layer, h = layer_of(config), hidden(1, sum(cuts), config.d_model)
    traces, cache = decoded(layer, h, cuts)
    assert_equals_prefill(traces, cache, layer(h), cuts)


V4 = {"CSA": {"pooling": 4, "index_topk": 20}, "HCA": {"pooling": 128}, "window": {}}
CUTS = [
    [1] * 30 + [670],
    [699, 1],
    [3, 1, 300, 1, 1, 394],
    [127, 1, 1, 571],
    [512, 188],
    [128, 572],
]


@pytest.mark.parametrize("name", V4)
def test_a_long_text_with_the_blocks_and_the_window_of_deepseek_v4(name):
    config = replace(KINDS[name], window=128, **V4[name])
    layer, h = layer_of(config), hidden(1, 700, 10)
    whole = layer(h)
    for lengths in CUTS:
        traces, cache = decoded(layer, h, lengths)
        assert_equals_prefill(traces, cache, whole, lengths)
        assert cache.kv_T.shape[1] == 127
    for length in (1, 3, 4, 127, 128, 129, 500):
        short = layer(h[:, :length])
        torch.testing.assert_close(short.u, whole.u[:, :length], **CLOSE)


def test_what_a_cache_holds_as_it_grows():
    """Tokens in the window, waiting, given ahead, and entries, token by token."""
    layer, h, cache = layer_of(CSA), hidden(2, 8, 10), PooledCache.empty(CSA, 2, torch.float64)
    rows = []
    for piece in h.split(1, dim=1):
        _, cache = layer.decode(piece, cache)
        names = ("kv_T", "c_E", "c_ahead", "kv_E", "k_E")
        rows.append(tuple(cache.buffers[name].shape[1] for name in names))
    assert rows == [
        (1, 1, 0, 0, 0), (2, 2, 0, 0, 0), (3, 0, 3, 1, 1), (3, 1, 3, 1, 1),
        (3, 2, 3, 1, 1), (3, 0, 3, 2, 2), (3, 1, 3, 2, 2), (3, 2, 3, 2, 2),
    ]  # fmt: skip
    of_keys = 3 * 6 + 2 * 6 + 2 * (2 * 2 * 6) + 2 * (3 * 6)
    of_index = 2 * 5 + 2 * (2 * 2 * 5) + 2 * (3 * 5)
    assert cache.nbytes == cache.reserved_nbytes == 2 * 8 * (of_keys + of_index)


def test_two_continuations_of_a_cache_do_not_disturb_each_other():
    layer, h = layer_of(CSA), hidden(1, 8, 10)
    _, held = decoded(layer, h[:, :5], [5])
    one, _ = layer.decode(h[:, 5:6], held)
    layer.decode(2 * h[:, 5:6], held)
    again, _ = layer.decode(h[:, 5:6], held)
    assert torch.equal(one.u, again.u)
    assert held.length == 5


def test_positions_may_jump_as_they_may_in_one_call():
    layer, h = layer_of(CSA), hidden(1, 8, 10)
    positions = [5, 6, 7, 8, 9, 10, 11, 12]
    cache = PooledCache.empty(CSA, 1, torch.float64)
    first, cache = layer.decode(h[:, :5], cache, positions=positions[:5])
    second, _ = layer.decode(h[:, 5:], cache, positions=positions[5:])
    u = torch.cat((first.u, second.u), dim=1)
    torch.testing.assert_close(u, layer(h, positions=positions).u, **CLOSE)


@kinds
def test_a_step_is_estimated_as_it_is_and_no_run_holds_more(config, monkeypatch):
    needed = []
    monkeypatch.setattr(budget, "require", lambda most, *_: needed.append(most))
    layer, h = layer_of(config, dtype=torch.float32), hidden(1, 20, 10, dtype=torch.float32)
    cache = PooledCache.empty(config)
    for piece in h.split([9, 1, 1, 1, 1, 1, 6], dim=1):
        needed.clear()
        with LiveBytes() as real:
            _, cache = layer.decode(piece, cache)
        assert real.peak <= needed[-1]
    with LiveBytes() as real:
        layer(h)
    assert real.peak <= needed[-1]


def test_a_run_beyond_the_budget_is_refused_before_it_begins(monkeypatch):
    layer, h = PooledAttention(HCA), hidden(1, 200, 10, dtype=torch.float32)
    monkeypatch.setenv(budget.VARIABLE, "1e-4")
    with pytest.raises(MemoryBudgetError, match="PooledAttention prefill needs"):
        layer(h)
    with pytest.raises(MemoryBudgetError, match="PooledCache needs"):
        PooledCache.empty(CSA, capacity=10_000)


def test_a_step_as_one_compiled_graph_gives_the_same():
    layer, h = layer_of(CSA), hidden(2, 9, 10)
    _, held = layer.decode(h[:, :8], PooledCache.empty(CSA, 2, torch.float64, capacity=9))
    trace, cache = in_one_graph(lambda x: layer.decode(x, held))(h[:, 8:])
    wanted, _ = layer.decode(h[:, 8:], held)
    assert_same(trace, wanted)
    assert (cache.length, cache.capacity) == (9, 9)


def test_a_cache_is_a_tree_of_its_tensors_and_comes_back():
    _, cache = layer_of(CSA).decode(
        hidden(1, 7, 10), PooledCache.empty(CSA, 1, torch.float64, capacity=8)
    )
    again = tree_map(lambda part: part if part is None else part.clone(), cache)
    assert (again.length, again.capacity, again.config) == (7, 8, CSA)
    assert {n: b.tolist() for n, b in again.buffers.items()} == {
        n: b.tolist() for n, b in cache.buffers.items()
    }


def test_what_does_not_fit_is_refused_with_what_to_do():
    layer, h = layer_of(CSA), hidden(2, 4, 10)
    _, cache = layer.decode(h, PooledCache.empty(CSA, 2, torch.float64, capacity=6))
    with refused("capacity (6) is too small for 4 tokens held and 4 new"):
        layer.decode(h, cache)
    with refused("cannot go back to 3", "keep the cache of 3 tokens"):
        cache.rewind(3)
    with refused("cannot go back to 0"):
        cache.prefix(0)
    assert cache.rewind(4) is cache
    with refused("cache", "PooledCache"):
        layer.decode(h, KVCache.empty(MLA, 2, torch.float64))
    with refused("form ('expanded')"):
        layer.decode(h, cache, form="expanded")
    with refused("config", "PooledConfig"):
        PooledCache.empty(MLA)
    with refused("the cache is for"):
        layer.decode(h, PooledCache.empty(HCA, 2, torch.float64))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_output_groups": 3}, ("n_heads (4) must be a multiple of n_output_groups (3)", "2")),
        ({"window": 0}, ("window (0)", "at least 1")),
        ({"pooling": -1}, ("pooling (-1)", "at least 0")),
        ({"overlap": 1}, ("overlap (1)", "True or False")),
        ({"pooling": 0}, ("pooling is 0", "set pooling")),
        ({"d_index": None}, ("d_index (None)", "together")),
        ({"index_topk": None}, ("n_index_heads (2)", "together")),
        ({"index_topk": 0}, ("index_topk (0)", "at least 1")),
        ({"d_index": 3}, ("d_index (3) must be at least d_rope (4)", "try 4")),
        ({"d_head": 3}, ("d_head (3) must be at least d_rope (4)", "try 4")),
        ({"d_rope": 3}, ("d_rope (3) must be even", "try 4")),
        ({"norm_eps": 0}, ("norm_eps (0)", "above 0")),
    ],
)
def test_a_configuration_that_no_layer_can_have_is_refused(changes, words):
    with refused(*words):
        replace(CSA, **changes)


def test_a_rotation_that_changes_with_the_length_is_refused_where_entries_keep_theirs():
    rope = RopeConfig(scaling=SCALING)
    with refused("LongRoPE", "another scaling"):
        replace(CSA, rope=rope)
    assert replace(SWA, rope=rope).rotation == rope
