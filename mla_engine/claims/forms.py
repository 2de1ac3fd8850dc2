"""Statements on what attention computes, and on the two forms of MLA."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, einsum

from mla_engine.claims.claim import Check, Figure, Verdict, judge, listed
from mla_engine.claims.layers import (
    MHA,
    MLA,
    NARROW_V3,
    deviation,
    every_head,
    hidden,
    layer,
    plain_attention,
    same,
    summed_attention,
)
from mla_engine.grouped import GroupedConfig
from mla_engine.latent import AbsorbedTrace, LatentConfig, LatentTrace
from mla_engine.presets import PRESETS


def _runs(config: LatentConfig) -> tuple[LatentTrace, AbsorbedTrace]:
    mla, h = layer(config), hidden(config)
    return mla(h), mla.forward_absorbed(h)


def _queries_and_keys(trace: LatentTrace) -> tuple[Tensor, Tensor]:
    """Return q and k of every head, [q_C; q_R] and [k_C; k_R] [b,t,h,k+r]."""
    k_R = every_head(trace.k_R, trace.k_C.shape[2])
    return torch.cat((trace.q_C, trace.q_R), -1), torch.cat((trace.k_C, k_R), -1)


def mha_equations(config: GroupedConfig = MHA) -> Verdict:
    """N1: q, k, v token by token, the sum over the keys, the output."""
    attention, h = layer(config), hidden(config)
    q, k, v = (
        torch.stack([weight @ h_t for h_t in h[0]]).unsqueeze(0).unflatten(2, (config.n_heads, -1))
        for weight in (w.flatten(0, 1) for w in (attention.W_Q, attention.W_K, attention.W_V))
    )
    o = summed_attention(q, k, v, 1 / math.sqrt(config.d_head))
    wanted, trace = o.flatten(2) @ attention.W_O.flatten(1).T, attention(h)
    torch_o = plain_attention(q, k, v, 1 / math.sqrt(config.d_head))
    holds = same(trace.u, wanted) and same(trace.o, torch_o)
    return Verdict(
        judge(holds),
        (
            Figure("from_loops", deviation(trace.u, wanted)),
            Figure("from_torch", deviation(trace.o, torch_o)),
        ),
    )


def joint_compression(config: LatentConfig = MLA) -> Verdict:
    """N2: one latent, keys and values out of it."""
    mla, h = layer(config), hidden(config)
    trace, c_KV = mla(h), h @ mla.W_DKV.T
    k_C, v_C = (c_KV @ weight.flatten(0, 1).T for weight in (mla.W_UK, mla.W_UV))
    pairs = ((trace.c_KV, c_KV), (trace.k_C.flatten(2), k_C), (trace.v_C.flatten(2), v_C))
    widths = [got.shape[-1] for got, _ in pairs]
    full = config.n_heads * config.d_head
    holds = all(same(*pair) for pair in pairs) and widths == [config.d_latent_kv, full, full]
    figures = (
        Figure("largest", max(deviation(*pair) for pair in pairs)),
        Figure("widths", listed(widths)),
    )
    return Verdict(judge(holds), figures)


def training_is_mha(config: LatentConfig = NARROW_V3) -> Verdict:
    """T1: the expanded q, k, v through plain attention with as many key as query heads."""
    trace, _ = _runs(config)
    q, k = _queries_and_keys(trace)
    o = plain_attention(q, k, trace.v_C, config.scale)
    widths = (q.shape[-1], k.shape[-1], trace.v_C.shape[-1])
    holds = same(trace.o, o) and widths == (128 + 64, 128 + 64, 128)
    return Verdict(
        judge(holds),
        (
            Figure("widths", listed(widths)),
            Figure("difference", deviation(trace.o, o)),
        ),
    )


def decoding_is_mqa(config: LatentConfig = NARROW_V3) -> Verdict:
    """T2: the absorbed q and one key head [c_KV; k_R], value c_KV, through plain attention."""
    expanded, absorbed = _runs(config)
    q = torch.cat((absorbed.q_C_absorbed, absorbed.q_R), -1)
    k = torch.cat((absorbed.c_KV, absorbed.k_R), -1).unsqueeze(2)
    o_latent = plain_attention(q, k, absorbed.c_KV.unsqueeze(2), config.scale)
    o = einsum("bthc,hvc->bthv", o_latent, layer(config).W_UV)
    widths = (q.shape[-1], k.shape[-1], o_latent.shape[-1])
    holds = same(expanded.o, o) and widths == (512 + 64, 512 + 64, 512)
    figures = (
        Figure("widths", listed(widths)),
        Figure("kv_heads", k.shape[2]),
        Figure("difference", deviation(expanded.o, o)),
    )
    return Verdict(judge(holds), figures)


def one_tensor_for_k_and_v(config: LatentConfig = NARROW_V3) -> Verdict:
    """T3: mix what K is made of with the attention, and compare with what MLA mixes."""
    _, absorbed = _runs(config)
    latent = absorbed.c_KV
    k = latent if absorbed.k_R is None else torch.cat((latent, absorbed.k_R), -1)
    mixed = einsum("bhts,bsc->bthc", absorbed.attention, k)
    in_part = same(mixed[..., : latent.shape[-1]], absorbed.o_latent)
    figures = (
        Figure("key_width", k.shape[-1]),
        Figure("value_width", absorbed.o_latent.shape[-1]),
    )
    return Verdict(judge(same(mixed, absorbed.o_latent), in_part=in_part), figures)


def sixteen_heads(
    presets: Iterable[str] = ("deepseek-v2-lite", "deepseek-v2", "deepseek-v3"),
) -> Verdict:
    """T4: the published numbers of heads."""
    heads = {PRESETS[key].name: PRESETS[key].config.n_heads for key in presets}
    sixteen = [count == 16 for count in heads.values()]
    latent = [p for p in PRESETS.values() if p.config.has_latent]
    others = [p.name for p in latent if p.config.n_heads == 16]
    figures = (
        Figure("heads", listed(f"{name}: {count}" for name, count in heads.items())),
        Figure("with_sixteen", listed(others)),
    )
    return Verdict(judge(all(sixteen), in_part=any(sixteen)), figures)


def one_set_of_parameters(config: LatentConfig = MLA) -> Verdict:
    """T9: both forms of one layer."""
    expanded, absorbed = _runs(config)
    difference = deviation(absorbed.u, expanded.u)
    return Verdict(judge(same(absorbed.u, expanded.u)), (Figure("difference", difference),))


def without_a_scale(config: GroupedConfig = MHA, softmax_scale: float | None = 1.0) -> Verdict:
    """S1: quotient of exponential sums, without and with the usual scale."""
    written = GroupedConfig(**vars(config) | {"softmax_scale": softmax_scale})
    one, usual = (layer(c)(hidden(c)) for c in (written, config))
    o = summed_attention(one.q, one.k, one.v, 1.0)
    figures = (
        Figure("at_scale_one", deviation(one.o, o)),
        Figure("at_model_scale", deviation(usual.o, o)),
    )
    return Verdict(judge(same(one.o, o)), figures)


def value_shape(config: GroupedConfig = MHA) -> Verdict:
    """S4: numbers in the value of one token and head."""
    v = layer(config)(hidden(config)).v[0, 0, 0]
    stated = config.d_model * config.d_value
    figures = (Figure("numbers", v.numel()), Figure("stated", stated))
    return Verdict(judge(v.numel() == stated), figures)


def inference_form(config: LatentConfig = MLA) -> Verdict:
    """S9: merged queries on [c_KV; k_R], then W_UV per head, against both forms of the engine."""
    mla, (expanded, absorbed) = layer(config), _runs(config)
    merged = einsum("btl,hlc->bthc", expanded.c_Q, mla.absorbed_matrices().W_QK)
    q = torch.cat((merged, expanded.q_R), -1)
    k = torch.cat((expanded.c_KV, expanded.k_R), -1).unsqueeze(2)
    o_latent = plain_attention(q, k, expanded.c_KV.unsqueeze(2), config.scale)
    o = einsum("bthc,hvc->bthv", o_latent, mla.W_UV)
    width = config.d_latent_kv + config.d_rope
    holds = same(o, expanded.o) and same(o, absorbed.o) and q.shape[-1] == k.shape[-1] == width
    figures = (
        Figure("from_expanded", deviation(o, expanded.o)),
        Figure("from_absorbed", deviation(o, absorbed.o)),
        Figure("width", q.shape[-1]),
    )
    return Verdict(judge(holds), figures)


def scale_of_both_forms(config: LatentConfig = MLA) -> Verdict:
    """P3: logits over the scale, and what the width of the absorbed query would give instead."""
    expanded, absorbed = _runs(config)
    q, k = _queries_and_keys(expanded)
    wanted = einsum("bthk,bshk->bhts", q, k) / math.sqrt(config.d_head + config.d_rope)
    forms = [trace.scores_C + trace.scores_R for trace in (expanded, absorbed)]
    wide = math.sqrt((config.d_head + config.d_rope) / (config.d_latent_kv + config.d_rope))
    figures = (
        Figure("expanded", deviation(forms[0], wanted)),
        Figure("absorbed", deviation(forms[1], wanted)),
        Figure("with_absorbed_width", deviation(wanted * wide, wanted)),
    )
    return Verdict(judge(all(same(scores, wanted) for scores in forms)), figures)


def output_projection(config: LatentConfig = MLA) -> Verdict:
    """C15: W_O times the heads' outputs, one after the other."""
    mla = layer(config)
    trace = mla(hidden(config))
    stacked = trace.o.flatten(2) @ mla.W_O.flatten(1).T
    return Verdict(
        judge(same(trace.u, stacked)), (Figure("difference", deviation(trace.u, stacked)),)
    )


CHECKS: dict[str, Check] = {
    "N1": mha_equations,
    "N2": joint_compression,
    "T1": training_is_mha,
    "T2": decoding_is_mqa,
    "T3": one_tensor_for_k_and_v,
    "T4": sixteen_heads,
    "T9": one_set_of_parameters,
    "S1": without_a_scale,
    "S4": value_shape,
    "S9": inference_form,
    "P3": scale_of_both_forms,
    "C15": output_projection,
}
