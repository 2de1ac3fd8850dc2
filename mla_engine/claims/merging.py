"""Statements on merging the projections of MLA into fewer matrices."""

from dataclasses import replace

import torch
from torch import Tensor, einsum

from mla_engine import costs
from mla_engine.claims.claim import MILLION, Check, Figure, Verdict, judge
from mla_engine.claims.layers import (
    MLA,
    NORMED,
    PLAIN_QUERY,
    PLAIN_QUERY_NO_ROPE,
    TOLERANCE,
    deviation,
    hidden,
    layer,
    plain_attention,
    same,
)
from mla_engine.latent import LatentConfig
from mla_engine.presets import PRESETS


def keys_into_queries(config: LatentConfig = PLAIN_QUERY) -> Verdict:
    """N5: h^T (W_Q^T W_UK) c_KV of each head against q_C k_C."""
    mla, h = layer(config), hidden(config)
    trace, merged = mla(h), mla.absorbed_matrices().W_QK
    scores = einsum("bthk,bshk->bhts", trace.q_C, trace.k_C)
    from_merged = einsum("btd,hdc,bsc->bhts", h, merged, trace.c_KV)
    difference = Figure("difference", deviation(from_merged, scores))
    return Verdict(judge(same(from_merged, scores)), (difference, Figure("merged", len(merged))))


def values_into_output(config: LatentConfig = MLA) -> Verdict:
    """N6: W_O W_UV of each head times the mixed latents, summed, against u."""
    mla = layer(config)
    trace, merged = mla(hidden(config)), mla.absorbed_matrices().W_VO
    u = einsum("bhts,bsc,hdc->btd", trace.attention, trace.c_KV, merged)
    difference = Figure("difference", deviation(u, trace.u))
    return Verdict(judge(same(u, trace.u)), (difference, Figure("merged", len(merged))))


def change_of_basis(orthogonal: bool = False, width: int = 6, tokens: int = 7) -> Verdict:
    """T6: attention of QA, KA, VB, brought back by B^-1, and the same with K A^-T."""
    generator = torch.Generator().manual_seed(5)
    draw = {"generator": generator, "dtype": torch.float64}
    q, k, v = torch.randn(3, 1, tokens, 1, width, **draw)
    a, b = torch.randn(2, width, width, **draw)
    a = torch.linalg.qr(a).Q if orthogonal else a
    wanted = plain_attention(q, k, v, width**-0.5)
    stated, corrected = (
        plain_attention(q @ a, key, v @ b, width**-0.5) @ torch.linalg.inv(b)
        for key in (k @ a, k @ torch.linalg.inv(a).T)
    )
    figures = (
        Figure("as_stated", deviation(stated, wanted)),
        Figure("with_inverse", deviation(corrected, wanted)),
    )
    rounded = 100 * TOLERANCE  # the inverse magnifies rounding
    return Verdict(judge(deviation(stated, wanted) < rounded), figures)


def merging_without_rope(config: LatentConfig = PLAIN_QUERY_NO_ROPE) -> Verdict:
    """S5: the whole logit of each head out of h, one merged matrix and c_KV."""
    mla, h = layer(config), hidden(config)
    trace, merged = mla(h), mla.absorbed_matrices().W_QK
    from_merged = einsum("btd,hdc,bsc->bhts", h, merged, trace.c_KV) * config.scale
    scores = trace.scores_C if trace.scores_R is None else trace.scores_C + trace.scores_R
    figures = (Figure("difference", deviation(from_merged, scores)),)
    return Verdict(judge(same(from_merged, scores)), figures)


def one_matrix_for_scores(config: LatentConfig = MLA) -> Verdict:
    """P4: W_UQ^T W_UK of all heads stacked, against each head's score and their sum."""
    mla, h = layer(config), hidden(config)
    trace = mla(h)
    scores = einsum("bthk,bshk->bhts", trace.q_C, trace.k_C)
    stacked = mla.W_UQ.flatten(0, 1).T @ mla.W_UK.flatten(0, 1)
    product = einsum("btl,lc,bsc->bts", trace.c_Q, stacked, trace.c_KV).unsqueeze(1)
    figures = (
        Figure("n_heads", config.n_heads),
        Figure("from_each", deviation(product.expand_as(scores), scores)),
        Figure("from_sum", deviation(product, scores.sum(1, keepdim=True))),
    )
    return Verdict(judge(same(product.expand_as(scores), scores)), figures)


def one_matrix_for_output(config: LatentConfig = MLA, tokens: int = 6) -> Verdict:
    """P5: W_O W_UV of all heads stacked, on the latents mixed by any one head's attention."""
    mla = layer(config)
    trace = mla(hidden(config, tokens))
    stacked = mla.W_O.flatten(1) @ mla.W_UV.flatten(0, 1)
    mixed = einsum("bhts,bsc->hbtc", trace.attention, trace.c_KV)
    stated = min(deviation(one_head @ stacked.T, trace.u) for one_head in mixed)
    per_head = einsum("hbtc,hdc->btd", mixed, mla.absorbed_matrices().W_VO)
    figures = (
        Figure("n_heads", config.n_heads),
        Figure("best_head", stated),
        Figure("per_head", deviation(per_head, trace.u)),
    )
    return Verdict(judge(any(same(one @ stacked.T, trace.u) for one in mixed)), figures)


def smaller_when_merged(config: LatentConfig = PRESETS["deepseek-v3"].config) -> Verdict:
    """P7: what the absorbed form still makes, and the entries of merged matrices and factors."""
    matrices = layer(config, "meta").absorbed_matrices()
    merged, factors = matrices.merged_elements[0], matrices.factor_elements[0]
    made = layer(MLA).forward_absorbed(hidden(MLA)).steps
    figures = (
        Figure("merged_entries", merged / MILLION, "M entries"),
        Figure("factor_entries", factors / MILLION, "M entries"),
        Figure("times", merged / factors, "times"),
    )
    without_keys = "k_C" not in made
    return Verdict(judge(without_keys and merged <= factors, in_part=without_keys), figures)


def _straight(mla: torch.nn.Module, h: Tensor) -> tuple[Tensor, Tensor]:
    """Return k_C and v_C straight from h through W_UK W_DKV and W_UV W_DKV."""
    merged = (einsum("hkc,cd->hkd", up, mla.W_DKV) for up in (mla.W_UK, mla.W_UV))
    return tuple(einsum("bsd,hkd->bshk", h, weight) for weight in merged)


def straight_to_keys(
    real: LatentConfig = NORMED, model: LatentConfig = PRESETS["deepseek-v3"].config
) -> Verdict:
    """C2: with the norm of real models and without; parameters and cache of a published size."""
    normed, plain = (layer(c) for c in (real, replace(real, latent_norm=False)))
    h = hidden(real)
    with_norm, without_norm = (
        max(deviation(k, t.k_C), deviation(v, t.v_C))
        for (k, v), t in ((_straight(mla, h), mla(h)) for mla in (normed, plain))
    )
    weights = costs.weight_elements(model)
    factors = sum(weights[name] for name in ("W_DKV", "W_UK", "W_UV"))
    merged = model.d_model * model.n_heads * (model.d_head + model.d_value)
    # every head's keys and values, and still one k_R for all of them
    caches = costs.mha_cache_elements(model) + model.d_rope, costs.cache_elements(model)
    figures = (
        Figure("without_norm", without_norm),
        Figure("with_norm", with_norm),
        Figure("merged_weights", merged / MILLION, "M weights"),
        Figure("factor_weights", factors / MILLION, "M weights"),
        Figure("cache_full", caches[0], "elements"),
        Figure("cache_latent", caches[1], "elements"),
    )
    pays = merged <= factors and caches[0] <= caches[1]
    return Verdict(judge(with_norm < TOLERANCE and pays, in_part=without_norm < TOLERANCE), figures)


def straight_to_queries(real: LatentConfig = NORMED) -> Verdict:
    """C6: W_UQ W_DQ merged, with the norm of real models and without."""
    differences = []
    for config in (real, replace(real, latent_norm=False)):
        mla, h = layer(config), hidden(config)
        merged = einsum("hkl,ld->hkd", mla.W_UQ, mla.W_DQ)
        differences.append(deviation(einsum("btd,hkd->bthk", h, merged), mla(h).q_C))
    with_norm, without_norm = differences
    figures = (Figure("without_norm", without_norm), Figure("with_norm", with_norm))
    return Verdict(judge(with_norm < TOLERANCE, in_part=without_norm < TOLERANCE), figures)


CHECKS: dict[str, Check] = {
    "N5": keys_into_queries,
    "N6": values_into_output,
    "T6": change_of_basis,
    "S5": merging_without_rope,
    "P4": one_matrix_for_scores,
    "P5": one_matrix_for_output,
    "P7": smaller_when_merged,
    "C2": straight_to_keys,
    "C6": straight_to_queries,
}
