"""Closed forms of what a layer costs, against its parameters, its trace and by hand."""

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    costs,
)
from tests.engine.kinds import configs, layer_of

MLA = LatentConfig(
    d_model=24, n_heads=6, d_head=4, d_latent_kv=7, d_rope=2, d_value=5, d_latent_q=9,
    latent_norm=True, bias=True,
)  # fmt: skip
GQA = GroupedConfig(
    d_model=24, n_heads=6, n_kv_heads=3, d_head=4, d_value=5, rope=RopeConfig(), bias=True,
    qk_norm=True,
)  # fmt: skip
TOKENS = 11


@pytest.mark.parametrize("heads", [None, [0], [2, 1]])
@configs
def test_parameters_are_those_of_the_module(config, heads):
    held = {name: p.numel() for name, p in layer_of(config, heads=heads).named_parameters()}
    assert costs.weight_elements(config, heads) == held
    assert costs.parameters(config, heads) == sum(held.values())


@pytest.mark.parametrize("form", ["expanded", "absorbed"])
def test_steps_are_fields_of_the_trace_in_its_order(form):
    module, h = MultiHeadLatentAttention(MLA), torch.ones(1, TOKENS, 24)
    trace = module(h) if form == "expanded" else module.forward_absorbed(h)
    names = list(costs.prefill(MLA, TOKENS, form).step_flops)
    assert names == [name for name in trace.steps if name in names]
    assert {"q_C", "c_KV_pre", "k_R_pre", "scores_C", "scores_R", "o", "u"} < set(names)
    grouped = costs.prefill(GQA, TOKENS).step_flops
    assert list(grouped) == [
        name for name in GroupedQueryAttention(GQA)(h).steps if name in grouped
    ]


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
