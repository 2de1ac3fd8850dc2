"""MLA's two forms in formulas over weights; arguments are valid and fit the memory.

Expanded ("MHA mode") builds keys and values of every head from the latent; absorbed ("MQA mode")
brings the queries into latent space and never builds them. They differ only by the order of
multiplication.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, einsum

from mla_engine.cache import KVCache
from mla_engine.latent.absorption import AbsorbedMatrices, require_no_gate
from mla_engine.latent.cache import LatentCache
from mla_engine.latent.projections import (
    LatentProjections,
    Latents,
    LatentWeights,
    Queries,
    latents_of,
    queries_of,
    turn_of,
)
from mla_engine.latent.trace import AbsorbedTrace, LatentTrace, masked_sum
from mla_engine.layer import Places
from mla_engine.ops import (
    against_shared,
    attended,
    causal_mask,
    fused_attention,
    of_each,
    of_shared,
    output,
    softmax,
)
from mla_engine.rope import per_head

KeysAndValues = tuple[Tensor, Tensor | None, Tensor]
"""k_C, k_R and v_C."""


def up_projected(w: LatentWeights, c_KV: Tensor) -> tuple[Tensor, Tensor]:
    """Return k_C [b,s,h,k] and v_C [b,s,h,v] of every head."""
    k_C = einsum("bsc,hkc->bshk", c_KV, w.W_UK)
    v_C = einsum("bsc,hvc->bshv", c_KV, w.W_UV)
    return k_C, v_C


def expanded(
    w: LatentWeights, h: Tensor, queries: Queries, latents: Latents, mask: Tensor
) -> LatentTrace:
    """Attend over up-projected keys and values."""
    k_C, v_C = up_projected(w, latents.c_KV)
    return attend(w, h, queries, latents, (k_C, latents.k_R, v_C), mask)


def attend(
    w: LatentWeights,
    h: Tensor,
    queries: Queries,
    latents: Latents,
    keys: KeysAndValues,
    mask: Tensor,
) -> LatentTrace:
    """Run the expanded form from keys and values on."""
    k_C, k_R, v_C = keys
    scores_C = einsum("bthk,bshk->bhts", queries.q_C * w.config.scale, k_C)
    scores_R = position_scores(w, queries.q_R, k_R)
    attention = softmax(masked_sum(scores_C, scores_R, mask))
    o = attended(of_each, attention, v_C, mask)
    o_gated, u = gated_output(w, o, queries.gate)
    return LatentTrace(
        h=h,
        **queries._asdict(),
        **latents._asdict(),
        k_C=k_C,
        v_C=v_C,
        scores_C=scores_C,
        scores_R=scores_R,
        mask=mask,
        attention=attention,
        o=o,
        o_gated=o_gated,
        u=u,
    )


def absorbed(
    w: LatentWeights, h: Tensor, queries: Queries, latents: Latents, mask: Tensor
) -> AbsorbedTrace:
    """Attend over the latents themselves."""
    q_C_absorbed = einsum("bthk,hkc->bthc", queries.q_C, w.W_UK)
    scores_C = against_shared(q_C_absorbed * w.config.scale, latents.c_KV)
    scores_R = position_scores(w, queries.q_R, latents.k_R)
    attention = softmax(masked_sum(scores_C, scores_R, mask))
    o_latent = attended(of_shared, attention, latents.c_KV, mask)
    o = einsum("bthc,hvc->bthv", o_latent, w.W_UV)
    o_gated, u = gated_output(w, o, queries.gate)
    return AbsorbedTrace(
        h=h,
        **queries._asdict(),
        **latents._asdict(),
        q_C_absorbed=q_C_absorbed,
        scores_C=scores_C,
        scores_R=scores_R,
        mask=mask,
        attention=attention,
        o_latent=o_latent,
        o=o,
        o_gated=o_gated,
        u=u,
    )


def gated_output(w: LatentWeights, o: Tensor, gate: Tensor | None) -> tuple[Tensor | None, Tensor]:
    """Return o behind its gate [b,t,h,v], where there is one, and u [b,t,d]."""
    o_gated = None if gate is None else o * gate
    return o_gated, output(o if gate is None else o_gated, w.W_O, w.b_O, w.config.n_heads)


def position_scores(w: LatentWeights, q_R: Tensor | None, k_R: Tensor | None) -> Tensor | None:
    """Return scale q_R k_R: one key for all heads, or the copies of it that a KVCache holds."""
    if q_R is None:
        return None
    q_R = q_R * w.config.scale
    shared = k_R.ndim == 3
    return against_shared(q_R, k_R) if shared else einsum("bthr,bshr->bhts", q_R, k_R)


def prefill(
    mla: LatentProjections,
    h: Tensor,
    positions: Tensor,
    heads: Places = slice(None),
    rows: slice = slice(None),
    c_KV: Tensor | None = None,
    k_R: Tensor | None = None,
    form: Callable = expanded,
) -> LatentTrace | AbsorbedTrace:
    """Attend from the chosen rows of h to all of h, whose latents may be known already.

    `form` is `expanded` or `absorbed`.
    """
    w, turn = mla.weights(heads), turn_of(mla.config, positions)
    queries = queries_of(w, h[:, rows], per_head(turn, rows))
    latents = latents_of(w, h, turn) if c_KV is None else Latents(None, c_KV, None, k_R)
    mask = causal_mask(h.shape[1], h.shape[1], rows, device=h.device)
    return form(w, h, queries, latents, mask)


def compressed(mla: LatentProjections, h: Tensor, positions: Tensor) -> LatentCache:
    """Return the latents of h as a cache."""
    latents = latents_of(mla.weights(), h, turn_of(mla.config, positions))
    empty = LatentCache.empty(mla.config, h.shape[0], mla.dtype, h.device)
    return replace(empty.append(latents.c_KV, latents.k_R), positions=positions)


def decode_latent(
    mla: LatentProjections,
    h: Tensor,
    cache: LatentCache,
    positions: Tensor,
    form: Callable = absorbed,
) -> tuple[LatentTrace | AbsorbedTrace, LatentCache]:
    """Attend from all of h to the cached latents and to those of h."""
    w, turn = mla.weights(), turn_of(mla.config, positions)
    queries = queries_of(w, h, per_head(turn))
    new = latents_of(w, h, turn)
    cache = cache.append(new.c_KV, new.k_R)
    latents = new._replace(c_KV=cache.c_KV, k_R=cache.k_R)
    mask = causal_mask(cache.length, h.shape[1], device=h.device)
    return form(w, h, queries, latents, mask), cache


def decode_in_full(
    mla: LatentProjections, h: Tensor, cache: KVCache, positions: Tensor
) -> tuple[LatentTrace, KVCache]:
    """Attend from all of h to keys and values in full: up-projected once, then cached."""
    w, turn = mla.weights(), turn_of(mla.config, positions)
    queries = queries_of(w, h, per_head(turn))
    latents = latents_of(w, h, turn)
    k_C, v_C = up_projected(w, latents.c_KV)
    cache = cache.append(with_rotary(k_C, latents.k_R), v_C)
    k_C, k_R = cache.k.split((mla.config.d_head, mla.config.d_rope), dim=-1)
    mask = causal_mask(cache.length, h.shape[1], device=h.device)
    return attend(w, h, queries, latents, (k_C, k_R, cache.v), mask), cache


def with_rotary(k_C: Tensor, k_R: Tensor | None) -> Tensor:
    """Return k = [k_C; k_R] [b,s,h,k+r], the shared part once for every head."""
    if k_R is None:
        return k_C
    return torch.cat((k_C, k_R.unsqueeze(2).expand(-1, -1, k_C.shape[2], -1)), dim=-1)


def fused(mla: LatentProjections, h: Tensor, positions: Tensor) -> Tensor:
    """Return only u [b,t,d], of the expanded form, by torch's own attention."""
    w, turn = mla.weights(), turn_of(mla.config, positions)
    mask = causal_mask(h.shape[1], h.shape[1], device=h.device)
    queries, latents = queries_of(w, h, per_head(turn)), latents_of(w, h, turn)
    return fused_over(w, queries, latents, mask, causal=True)


def fused_over(
    w: LatentWeights, queries: Queries, latents: Latents, mask: Tensor, *, causal: bool = False
) -> Tensor:
    """Return u [b,t,d] over the keys that `mask` shows, [t,s] or [b,1,t,s]."""
    k_C, v_C = up_projected(w, latents.c_KV)
    q = queries.q_C if queries.q_R is None else torch.cat((queries.q_C, queries.q_R), dim=-1)
    k = with_rotary(k_C, latents.k_R)
    o = fused_attention(q, k, v_C, mask, w.config.scale, causal=causal)
    return gated_output(w, o, queries.gate)[1]


def merged(mla: LatentProjections, heads: Places) -> AbsorbedMatrices:
    """Merge queries with keys and values with the output: one pair of matrices a head.

    Raises:
        ValueError: an output gate, which stands between the two that would be merged.
    """
    require_no_gate(mla.config)
    w = mla.weights(heads)
    return AbsorbedMatrices.of(w.W_UQ, w.W_UK, w.W_UV, w.W_O)


def unmasked(_mla: LatentProjections, trace: LatentTrace | AbsorbedTrace) -> Tensor:
    """Return the logits of a trace before the mask [b,h,t,s]."""
    return trace.scores_C if trace.scores_R is None else trace.scores_C + trace.scores_R


def weighed_values(mla: LatentProjections, trace: LatentTrace, attention: Tensor) -> LatentTrace:
    """Return the trace with another attention [b,h,t,s] to the values."""
    w = mla.weights()
    o = of_each(attention, trace.v_C)
    o_gated, u = gated_output(w, o, trace.gate)
    return replace(trace, attention=attention, o=o, o_gated=o_gated, u=u)


def weighed_latents(
    mla: LatentProjections, trace: AbsorbedTrace, attention: Tensor
) -> AbsorbedTrace:
    """Return the trace with another attention [b,h,t,s] to the latents."""
    w = mla.weights()
    o_latent = of_shared(attention, trace.c_KV)
    o = einsum("bthc,hvc->bthv", o_latent, w.W_UV)
    o_gated, u = gated_output(w, o, trace.gate)
    return replace(trace, attention=attention, o_latent=o_latent, o=o, o_gated=o_gated, u=u)
