"""Closed forms against the real modules, the real caches and torch's own FLOP counter."""

import dataclasses
import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    costs,
)
from mla_engine.presets import PRESETS

MLA = LatentConfig(
    d_model=24, n_heads=6, d_head=4, d_latent_kv=7, d_rope=2, d_value=5, d_latent_q=9,
    latent_norm=True, bias=True,
)  # fmt: skip
PLAIN_QUERY = dataclasses.replace(MLA, d_latent_q=None, latent_norm=False, bias=False)
NO_ROPE = dataclasses.replace(MLA, d_rope=0, bias=False)
GQA = GroupedConfig(
    d_model=24, n_heads=6, n_kv_heads=3, d_head=4, d_value=5, rope=RopeConfig(), bias=True,
    qk_norm=True,
)  # fmt: skip
MHA = GroupedConfig(d_model=24, n_heads=6, n_kv_heads=6, d_head=4)
MQA = dataclasses.replace(MHA, n_kv_heads=1)
LATENT, GROUPED = (MLA, PLAIN_QUERY, NO_ROPE), (GQA, MHA, MQA)
TOKENS = 11
HEADS = (None, [0], [4, 1, 5])
QUERIES = (None, slice(3, 9), slice(-1, None), slice(0, None, 4))


def layer(config, heads=None, dtype=torch.float32):
    latent = isinstance(config, LatentConfig)
    kind = MultiHeadLatentAttention if latent else GroupedQueryAttention
    return kind(config, heads=heads, dtype=dtype)


def counted(run) -> int:
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def hidden(batch, tokens=TOKENS):
    return torch.ones(batch, tokens, 24)


@pytest.mark.parametrize("heads", [None, [0], [4, 1, 5], [2, 3]])
@pytest.mark.parametrize("config", LATENT + GROUPED)
def test_parameters_are_those_of_the_module(config, heads):
    held = {name: p.numel() for name, p in layer(config, heads).named_parameters()}
    assert costs.weight_elements(config, heads) == held
    assert costs.parameters(config, heads) == sum(held.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("config", LATENT + GROUPED)
def test_cache_bytes_are_those_of_the_cache(config, dtype):
    kinds = {"kv": KVCache} | ({"latent": LatentCache} if config in LATENT else {})
    module = layer(config, dtype=dtype)
    for name, kind in kinds.items():
        _, cache = module.decode(hidden(2).to(dtype), kind.empty(config, batch=2, dtype=dtype))
        expected = costs.cache_bytes_per_token(config, dtype.itemsize, name) * 2 * TOKENS
        assert cache.nbytes == expected


@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("config", LATENT)
def test_latent_prefill_counts_what_runs(config, batch, heads, queries):
    module, h = layer(config), hidden(batch)
    latents = module.compress(h)
    for form, run in (("expanded", module), ("absorbed", module.forward_absorbed)):
        for known in (None, latents):
            cost = costs.prefill(
                config, TOKENS, form, batch=batch, heads=heads, queries=queries,
                latents=known is not None,
            )  # fmt: skip
            assert cost.total_flops == counted(
                lambda run=run, known=known: run(h, heads=heads, queries=queries, latents=known)
            )


@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("config", GROUPED)
def test_grouped_prefill_counts_what_runs(config, heads, queries):
    module, h = layer(config), hidden(2)
    cost = costs.prefill(config, TOKENS, batch=2, heads=heads, queries=queries)
    assert cost.total_flops == counted(lambda: module(h, heads=heads, queries=queries))


@pytest.mark.parametrize("new", [1, 4])
@pytest.mark.parametrize(
    ("kind", "form", "name"),
    [
        (LatentCache, "absorbed", "latent"),
        (LatentCache, "expanded", "latent"),
        (KVCache, "expanded", "kv"),
    ],
)
@pytest.mark.parametrize("config", LATENT)
def test_latent_decode_counts_what_runs(config, kind, form, name, new):
    module = layer(config)
    _, cache = module.decode(hidden(2), kind.empty(config, batch=2))
    cost = costs.decode(config, TOKENS, form, cache=name, new_tokens=new, batch=2)
    run = counted(lambda: module.decode(hidden(2, new), cache, form=form))
    assert cost.total_flops == run


@pytest.mark.parametrize("new", [1, 4])
@pytest.mark.parametrize("config", GROUPED)
def test_grouped_decode_counts_what_runs(config, new):
    module = layer(config)
    _, cache = module.decode(hidden(2), KVCache.empty(config, batch=2))
    cost = costs.decode(config, TOKENS, new_tokens=new, batch=2)
    assert cost.total_flops == counted(lambda: module.decode(hidden(2, new), cache))


@pytest.mark.parametrize("form", ["expanded", "absorbed"])
def test_steps_are_fields_of_the_trace_in_its_order(form):
    module, h = layer(MLA), hidden(1)
    trace = module(h) if form == "expanded" else module.forward_absorbed(h)
    names = list(costs.prefill(MLA, TOKENS, form).step_flops)
    assert names == [name for name in trace.steps if name in names]
    assert {"q_C", "c_KV_pre", "k_R_pre", "scores_C", "scores_R", "o", "u"} < set(names)
    grouped = costs.prefill(GQA, TOKENS).step_flops
    assert list(grouped) == [name for name in layer(GQA)(h).steps if name in grouped]


def test_work_per_head_and_per_query_falls_and_the_shared_part_stays():
    shared = ("c_Q_pre", "c_KV_pre", "k_R_pre")
    whole = costs.prefill(MLA, TOKENS).step_flops
    one = costs.prefill(MLA, TOKENS, heads=[5]).step_flops
    assert {n: whole[n] / one[n] for n in whole} == {n: 1 if n in shared else 6 for n in whole}
    row = costs.prefill(MLA, TOKENS, queries=slice(4, 5)).step_flops
    keys = ("c_KV_pre", "k_R_pre", "k_C", "v_C")
    assert {n: whole[n] / row[n] for n in whole} == {n: 1 if n in keys else 11 for n in whole}
    known = costs.prefill(MLA, TOKENS, latents=True).step_flops
    assert whole.keys() - known.keys() == {"c_KV_pre", "k_R_pre"}


def test_bytes_of_a_decode_step_by_hand():
    config = PRESETS["deepseek-v3"].config
    weights = 2 * costs.parameters(config)
    cost = costs.decode(config, 4096, batch=3)
    assert cost.cache_read_bytes == 3 * 4096 * 576 * 2
    assert cost.cache_written_bytes == 3 * 576 * 2
    assert cost.activation_bytes == 3 * 7168 * 2 * 2
    assert (cost.weight_bytes, cost.up_projected_bytes) == (weights, 0)
    assert cost.total_bytes == weights + 3 * (4097 * 576 * 2 + 7168 * 2 * 2)
    assert cost.flops_per_byte == cost.total_flops / cost.total_bytes
    expanded = costs.decode(config, 4096, "expanded", batch=3)
    assert expanded.up_projected_bytes == 2 * 3 * 4097 * 128 * 256 * 2
    in_full = costs.decode(config, 4096, cache="kv", batch=3)
    assert in_full.cache_read_bytes == 3 * 4096 * 40960 * 2
    assert in_full.up_projected_bytes == 0


def test_bytes_of_prefill_by_hand():
    config = PRESETS["deepseek-v2-lite"].config
    cost = costs.prefill(config, 100, dtype_bytes=4)
    assert (cost.cache_read_bytes, cost.cache_written_bytes) == (0, 100 * 576 * 4)
    assert cost.activation_bytes == 2 * 100 * 2048 * 4
    row = costs.prefill(config, 100, queries=slice(0, 10), latents=True, heads=[3])
    assert (row.cache_read_bytes, row.cache_written_bytes) == (100 * 576 * 2, 0)
    assert row.activation_bytes == 2 * 10 * 2048 * 2
    # W_UQ, W_QR, W_UK, W_UV and W_O of one head: 192 x 2048, twice 128 x 512, 128 x 2048.
    assert row.weight_bytes == 2 * (192 * 2048 + 256 * 512 + 128 * 2048)
    assert costs.prefill(config, 100).cache_written_bytes == 100 * 576 * 2


def test_published_figures():
    v2, v3 = PRESETS["deepseek-v2"].config, PRESETS["deepseek-v3"].config
    assert costs.cache_elements(v2) == 4.5 * 128 == 576
    assert costs.equivalent_kv_heads(v2) == 2.25
    assert round(costs.cache_elements(v3, "kv") / costs.cache_elements(v3), 1) == 71.1
    assert round(costs.mha_cache_elements(v3) / costs.cache_elements(v3), 1) == 56.9
    assert 60 * costs.cache_elements(v2) == 34_560
    assert 27 * costs.cache_elements(PRESETS["deepseek-v2-lite"].config) == 15_552
    assert 61 * costs.cache_bytes_per_token(v3, 2) == 70_272
    assert costs.cache_bytes_per_token(v3, 0.5) == 288


@pytest.mark.parametrize(
    ("key", "queries"), [("deepseek-v3", 171), ("minicpm3-4b", 85), ("glm-5", 398)]
)
def test_crossover_between_the_forms(key, queries):
    config = PRESETS[key].config
    assert round(costs.crossover_queries(config)) == queries
    context = 2048
    limit = costs.crossover_queries(config, context)
    assert limit < costs.crossover_queries(config)

    def flops(form, rows):
        window = slice(context - rows, None)
        return costs.prefill(config, context, form, queries=window, latents=True).total_flops

    below, above = math.floor(limit), math.floor(limit) + 1
    assert flops("absorbed", below) < flops("expanded", below)
    assert flops("absorbed", above) > flops("expanded", above)


def test_no_crossover_where_the_latent_is_narrow():
    narrow = dataclasses.replace(MLA, d_latent_kv=4)
    assert costs.crossover_queries(narrow) == math.inf


def test_intensity_of_absorbed_decode_grows_with_the_heads():
    config = PRESETS["deepseek-v3"].config
    cost = costs.decode(config, 100_000)
    # 2 h (2 c + r) FLOPs and 2 (c + r) bytes per cached token in 16 bits.
    per_token = cost.attention_flops / 100_001, cost.cache_read_bytes / 100_000
    assert per_token == (2 * 128 * 1088, 2 * 576)
    assert round(cost.attention_flops / cost.cache_read_bytes) == 242
    expanded = costs.decode(config, 100_000, cache="kv")
    assert expanded.attention_flops / 100_001 == 2 * 128 * 320
    assert costs.decode(GQA, 10).attention_flops == 2 * 6 * 11 * (4 + 5)


def test_preset_counts_equal_the_reported_ones():
    # DeepSeek-V3's kv_b_proj has 16.8 M parameters, W_UQ and W_UK together 33.6 M.
    sizes = costs.weight_elements(PRESETS["deepseek-v3"].config)
    assert sizes["W_UK"] + sizes["W_UV"] == 512 * 32_768
    assert sizes["W_UQ"] + sizes["W_UK"] == 33_554_432


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: costs.decode(MLA, -1), r"context \(-1\)"),
        (lambda: costs.decode(MLA, 8, "fused"), r"form \('fused'\) must be one of"),
        (lambda: costs.decode(MLA, 8, "absorbed", cache="kv"), "absorbed"),
        (lambda: costs.decode(GQA, 8, "absorbed"), "absorbed"),
        (lambda: costs.decode(GQA, 8, cache="latent"), "LatentConfig"),
        (lambda: costs.decode(MLA, 8, cache="paged"), r"cache \('paged'\)"),
        (lambda: costs.decode(MLA, 8, new_tokens=0), r"new_tokens \(0\)"),
        (lambda: costs.prefill(MLA, 0), r"tokens \(0\)"),
        (lambda: costs.prefill(MLA, 8, batch=0), r"batch \(0\)"),
        (lambda: costs.prefill(MLA, 8, dtype_bytes=0), r"dtype_bytes \(0\)"),
        (lambda: costs.prefill(MLA, 8, heads=[6]), "from 0 to 5"),
        (lambda: costs.prefill(MLA, 8, heads=[]), "at least one head"),
        (lambda: costs.prefill(MLA, 8, heads=[1, 1]), "twice"),
        (lambda: costs.prefill(MLA, 8, heads=3), r"heads \(3\)"),
        (lambda: costs.prefill(MLA, 8, heads=[0.5]), r"heads \(0.5\)"),
        (lambda: costs.prefill(MLA, 8, queries=slice(8, 9)), "none of 8 rows"),
        (lambda: costs.prefill(MLA, 8, queries=3), r"queries \(3\)"),
        (lambda: costs.prefill(MLA, 8, latents=1), r"latents \(1\)"),
        (lambda: costs.prefill(GQA, 8, latents=True), "LatentConfig"),
        (lambda: costs.parameters(None), r"config \(None\)"),
        (lambda: costs.crossover_queries(GQA), "LatentConfig"),
        (lambda: costs.cache_bytes_per_token(MLA, -2), r"dtype_bytes \(-2\)"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
