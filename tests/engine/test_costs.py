"""Closed forms against the real modules, the real caches and torch's own FLOP counter."""

import dataclasses

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
@pytest.mark.parametrize("config", LATENT)
def test_latent_prefill_counts_what_runs(config, heads, queries):
    batch = 1 if queries is None else 3
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
