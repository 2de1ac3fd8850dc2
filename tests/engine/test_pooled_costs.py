"""The costs of CSA, HCA and windows: by hand, by torch on real runs, by a step that gathers."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
from torch import einsum

from mla_engine import PooledCache, PooledConfig, costs
from mla_engine.costs import Serving
from mla_engine.pooled.costs import COSTS, MOST
from tests.engine.kinds import layer_of
from tests.engine.samples import counted, hidden, refused

CSA = PooledConfig(  # sizes without a common factor, so that no wrong product can hide
    d_model=31, n_heads=6, d_head=11, d_latent_q=13, d_latent_o=7, n_output_groups=3, window=9,
    d_rope=2, pooling=4, overlap=True, index_topk=3, n_index_heads=5, d_index=17,
)  # fmt: skip
HCA = replace(CSA, pooling=8, overlap=False, index_topk=None, n_index_heads=None, d_index=None)
SWA = replace(HCA, pooling=0)
KINDS = {"CSA": CSA, "HCA": HCA, "window": SWA}
kinds = pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
BATCH = 2
pytestmark = pytest.mark.usefixtures("unmeasured")
V4 = PooledConfig(  # DeepSeek-V4-Flash, as its configuration in transformers has it by default
    d_model=4096, n_heads=64, d_head=512, d_latent_q=1024, d_latent_o=1024, n_output_groups=8,
    window=128, d_rope=64, pooling=4, overlap=True, index_topk=512, n_index_heads=64, d_index=128,
)  # fmt: skip
V4_HCA = replace(V4, pooling=128, overlap=False, index_topk=None, n_index_heads=None, d_index=None)


def by_hand(c, h, groups, t, new, window, over, entries):
    """2 x multiply-adds of h heads and t queries that see `window` tokens and `over` entries."""
    d, k, latent, z = c.d_model, c.d_head, c.d_latent_q, c.d_latent_o
    total = t * latent * d + t * h * k * latent + new * k * d
    total += 2 * new * (1 + c.overlap) * k * d if c.pooling else 0
    if c.chooses:
        j, x = c.n_index_heads, c.d_index
        total += t * j * x * latent + t * j * d + 2 * new * 2 * x * d
        total += j * t * entries * x + t * entries * j
    total += 2 * h * t * (window + over) * k + t * h * k * z + t * d * groups * z
    return 2 * BATCH * total


@kinds
@pytest.mark.parametrize("tokens", [3, 17, 23])
@pytest.mark.parametrize(("heads", "groups"), [(None, 3), ([4, 1], 2), ([2, 3], 1)])
def test_a_run_makes_the_logits_of_all_and_the_costs_count_what_is_seen(
    config, tokens, heads, groups
):
    layer, h = layer_of(config, dtype=torch.float32), hidden(BATCH, tokens, 31, 1, torch.float32)
    real = counted(lambda: layer(h, heads=heads))
    n, entries = len(heads or range(6)), tokens // config.pooling if config.pooling else 0
    sizes = (config, n, groups, tokens, tokens)
    assert real == by_hand(*sizes, tokens, entries, entries)
    cost = costs.prefill(config, tokens, batch=BATCH, heads=heads)
    chosen = min(entries, config.index_topk or entries)
    assert cost.total_flops == by_hand(*sizes, min(tokens, 9), chosen, entries)
    dense = costs.prefill(COSTS.with_every_key(config), tokens, batch=BATCH, heads=heads)
    assert dense.total_flops == real


@kinds
@pytest.mark.parametrize("context", [2, 15, 16, 40])  # a single key is no product that torch counts
def test_a_step_reads_its_window_and_makes_what_it_makes(config, context):
    layer = layer_of(config, dtype=torch.float32)
    past = hidden(BATCH, context, 31, 1, torch.float32)
    _, cache = layer.decode(past, PooledCache.empty(config, BATCH))
    new = hidden(BATCH, 1, 31, 2, torch.float32)
    real = counted(lambda: layer.decode(new, cache))
    every = replace(config, index_topk=config.index_topk and MOST)
    assert costs.decode(every, context, batch=BATCH).total_flops == real
    entries = (context + 1) // config.pooling if config.pooling else 0
    chosen = min(entries, config.index_topk or entries)
    wanted = by_hand(config, 6, 3, 1, 1, min(context + 1, 9), chosen, entries)
    assert costs.decode(config, context, batch=BATCH).total_flops == wanted


@pytest.mark.parametrize("context", [7, 14, 40])
def test_a_step_that_gathers_its_choice_gives_the_same_and_costs_what_is_counted(context):
    layer = layer_of(CSA)
    _, cache = layer.decode(
        hidden(BATCH, context, 31, 1), PooledCache.empty(CSA, BATCH, torch.float64)
    )
    trace, _ = layer.decode(hidden(BATCH, 1, 31, 2), cache)

    def attention():
        chosen = trace.kv_E[trace.chosen_E[:, 0]].unflatten(0, (BATCH, -1))
        seen = torch.cat((trace.kv_T, chosen), dim=1)
        logits = einsum("bthk,bsk->bhts", trace.q, seen) * CSA.scale
        sink = layer.sink[:, None, None].expand(BATCH, -1, 1, 1)
        shares = torch.cat((logits, sink), dim=-1).softmax(-1)[..., :-1]
        return einsum("bhts,bsk->bthk", shares, seen)

    torch.testing.assert_close(attention(), trace.o_turned, rtol=1e-12, atol=1e-12)
    steps = costs.decode(CSA, context, batch=BATCH).step_flops
    of_attention = ("scores_T", "scores_E", "o_turned")
    assert counted(attention) == sum(steps[name] for name in of_attention)


@kinds
def test_what_is_stored_is_what_real_caches_hold_and_what_changes_in_them(config):
    """Byte by byte: a step writes a part of the cache where that has other rows than before."""
    layer, cache = (
        layer_of(config, dtype=torch.bfloat16),
        PooledCache.empty(config, dtype=torch.bfloat16),
    )
    for context, piece in enumerate(hidden(1, 30, 31, 1, torch.bfloat16).split(1, dim=1)):
        assert cache.nbytes == costs.held_bytes(config, context, 2)
        _, longer = layer.decode(piece, cache)
        written = longer.kv_T[:, -1:].nbytes
        for name in set(longer.buffers) - {"kv_T"}:
            held, now = cache.buffers[name], longer.buffers[name]
            if name.endswith("ahead"):
                written += 0 if held.shape == now.shape and torch.equal(held, now) else now.nbytes
            else:
                written += max(0, now.nbytes - held.nbytes)
        assert costs.decode(config, context).cache_written_bytes == written, context
        cache = longer
    fixed, growing = (f(config, 2) for f in (costs.fixed_bytes, costs.cache_bytes_per_token))
    bound = [fixed + growing * tokens - costs.held_bytes(config, tokens, 2) for tokens in range(99)]
    assert min(bound) == pytest.approx(0, abs=1e-9), "never too low, and reached"


@kinds
@pytest.mark.parametrize("tokens", [5, 9, 10, 40])
def test_a_whole_text_writes_what_is_held_of_it(config, tokens):
    written = costs.prefill(config, tokens, batch=BATCH).cache_written_bytes
    assert written == BATCH * costs.held_bytes(config, tokens, 2)


def test_what_a_step_reads():
    """CSA reads the window, every index key, three entries; where it fills a block, what waited."""
    window, entries = 9 * 11, 3 * 11
    for context, index, pooled in ((16, 4, 0), (18, 4, 0), (19, 4, 3 * 2 * 2 + 2 * 4)):
        cost = costs.decode(CSA, context, batch=BATCH)
        waited = pooled * (11 + 17)
        assert cost.cache_read_bytes == BATCH * 2 * (window + entries + index * 17 + waited)
    assert costs.decode(CSA, 0).cache_read_bytes == 0
    assert costs.decode(SWA, 500).cache_read_bytes == 2 * window


@kinds
def test_what_it_has_not_is_refused(config):
    with refused("latents (True) needs"):
        costs.prefill(config, 4, latents=True)
    with refused("form 'absorbed' needs"):
        costs.decode(config, 4, "absorbed")


def test_deepseek_v4_flash():
    """Its 43 layers: 2 of only a window, 21 CSA, 20 HCA; 3,440 numbers per token beside windows."""
    assert costs.cache_elements(V4) == (512 + 128) / 4
    assert costs.cache_elements(V4_HCA) == 512 / 128
    assert 21 * costs.cache_elements(V4) + 20 * costs.cache_elements(V4_HCA) == 3_440
    window = replace(V4_HCA, pooling=0)
    assert costs.held_bytes(window, 2**20, 2) == 128 * 512 * 2
    long = costs.decode(V4, 2**20 - 1)
    waited = 3 * 2 * 2 + 2 * 4
    entries = (2**18 - 1) * 128 + 512 * 512
    assert long.cache_read_bytes == 2 * (128 * 512 + entries + waited * (512 + 128))
    assert long.step_flops["scores_E"] == 2 * 64 * 512 * 512


def test_a_gpu_holds_the_windows_beside_what_grows():
    model = costs.model(((V4, 21),))
    serving = Serving(model=model, total_parameters=0, gpu_bytes=80e9)
    for tokens in (100_000, 100_003):
        assert serving.held_bytes(tokens) == 21 * costs.held_bytes(V4, tokens, 2)
    grown = serving.token_bytes * 100_003 + 21 * costs.fixed_bytes(V4, 2)
    assert grown == serving.held_bytes(100_003), "most is kept a token before a block is full"


@kinds
@pytest.mark.parametrize("tokens", [0, 1, 3, 8, 17, 40])
def test_the_parts_of_a_cache_are_what_it_holds_and_what_its_entries_pool(config, tokens):
    """Bytes of a real cache's own tensors; spans by the tokens that a run says an entry pools."""
    layer, cache = layer_of(config, dtype=torch.float32), PooledCache.empty(config)
    trace = None
    for n in range(tokens):
        trace, cache = layer.decode(hidden(1, 1, 31, n, torch.float32), cache)
    parts = {part.code: part for part in costs.kept_parts(config, tokens, 4)}
    held = {name: rows.nbytes for name, rows in cache.buffers.items()}
    kinds = Counter()
    for name, n_bytes in held.items():
        kinds[{"kv_T": "window", "kv_E": "entries", "k_E": "index"}.get(name, "waiting")] += n_bytes
    for kind, row in costs.kept_rows(config, tokens, 4).items():
        assert (4 * row.numbers, row.n_bytes) == (kinds[kind],) * 2, kind
    entries = sum(held.pop(name, 0) for name in ("kv_E", "k_E"))
    assert parts["window"].n_bytes == held.pop("kv_T")
    assert parts["window"].spans == (((max(0, tokens - 9), tokens),) if tokens else ())
    if not config.pooling:
        assert set(parts) == {"window"}
        return
    assert (parts["entries"].n_bytes, parts["waiting"].n_bytes) == (entries, sum(held.values()))
    pooled = [] if trace is None else trace.members.tolist()
    spans = [(min(n for n in each if n >= 0), max(each) + 1) for each in pooled]
    assert list(parts["entries"].spans) == spans
    assert bool(parts["waiting"].spans) == bool(parts["waiting"].n_bytes)
