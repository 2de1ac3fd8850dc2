"""Grouped-query attention in formulas over weights; arguments are valid and fit the memory."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, einsum

from mla_engine.cache import KVCache
from mla_engine.grouped.projections import (
    GroupedProjections,
    GroupedWeights,
    Keys,
    keys,
    queries,
    turn_of,
)
from mla_engine.layer import Places
from mla_engine.ops import attended, causal_mask, fused_attention, hidden_, of_each, output, softmax
from mla_engine.rope import per_head
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupedTrace(Trace):
    """MHA, GQA or MQA; attention and sink_mass are of one softmax, and add up to 1."""

    h: Tensor  # [b,t,d]
    q_pre: Tensor  # [b,t,h,k]
    q: Tensor  # [b,t,h,k]
    k_pre: Tensor  # [b,s,g,k]
    k: Tensor  # [b,s,g,k]
    v: Tensor  # [b,s,g,v]
    scores: Tensor  # [b,h,t,s], scaled, soft-capped, masked with -inf
    mask: Tensor  # bool [t,s], True where the query sees the key
    attention: Tensor  # [b,h,t,s]
    sink_mass: Tensor | None  # [b,h,t]
    o: Tensor  # [b,t,h,v]
    u: Tensor  # [b,t,d]

    form = "grouped"


def prefill(
    gqa: GroupedProjections,
    h: Tensor,
    positions: Tensor,
    heads: Places = slice(None),
    rows: slice = slice(None),
) -> GroupedTrace:
    """Attend from the chosen rows of h to all of h."""
    w, turn = gqa.weights(heads), turn_of(gqa.config, positions)
    mask = causal_mask(h.shape[1], h.shape[1], rows, gqa.config.sliding_window, h.device)
    q_pre_and_q = queries(w, h[:, rows], per_head(turn, rows))
    return attend(w, h, q_pre_and_q, keys(w, h, per_head(turn)), mask)


def decode(
    gqa: GroupedProjections, h: Tensor, cache: KVCache, positions: Tensor
) -> tuple[GroupedTrace, KVCache]:
    """Attend from all of h to the keys of the cache and of h; return the longer cache, too."""
    w, turn = gqa.weights(), per_head(turn_of(gqa.config, positions))
    new = keys(w, h, turn)
    cache = cache.append(new.k, new.v)
    window = gqa.config.sliding_window
    mask = causal_mask(cache.length, h.shape[1], window=window, device=h.device)
    held = new._replace(k=cache.k, v=cache.v)
    return attend(w, h, queries(w, h, turn), held, mask), cache


def attend(
    w: GroupedWeights, h: Tensor, q_pre_and_q: tuple[Tensor, Tensor], kv: Keys, mask: Tensor
) -> GroupedTrace:
    """Attend from queries to keys and values, up to the output."""
    q_pre, q = q_pre_and_q
    scores = hidden_(logits(w, q, kv.k), mask)
    attention, sink_mass = shares(scores, w.sink)
    o = attended(of_each, attention, kv.v[:, :, w.shared_by], mask)
    u = output(o, w.W_O, w.b_O, w.config.n_heads)
    return GroupedTrace(
        h=h,
        q_pre=q_pre,
        q=q,
        **kv._asdict(),
        scores=scores,
        mask=mask,
        attention=attention,
        sink_mass=sink_mass,
        o=o,
        u=u,
    )


def shares(scores: Tensor, sink: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return what each row gives to its keys [b,h,t,s] and, by the same softmax, to the sink."""
    if sink is None:
        return softmax(scores), None
    whole = softmax(torch.cat((scores, of_sink(scores, sink)), dim=-1))
    return whole[..., :-1], whole[..., -1]


def of_sink(scores: Tensor, sink: Tensor) -> Tensor:
    """Return the sink's logit in every row [b,h,t,1]."""
    return sink[:, None, None].expand(*scores.shape[:3], 1)


def logits(w: GroupedWeights, q: Tensor, k: Tensor) -> Tensor:
    """Return scale q k, unmasked [b,h,t,s], soft-capped where the configuration says so."""
    scores = einsum("bthk,bshk->bhts", q, k[:, :, w.shared_by]).mul_(w.config.scale)
    cap = w.config.logit_softcap
    return scores if cap is None else scores.div_(cap).tanh_() * cap


def fused(gqa: GroupedProjections, h: Tensor, positions: Tensor) -> Tensor:
    """Return only u [b,t,d], by torch's own attention; soft caps and sinks go the trace's way."""
    if gqa.config.logit_softcap is not None or gqa.config.sinks:
        return prefill(gqa, h, positions).u
    w, turn = gqa.weights(), per_head(turn_of(gqa.config, positions))
    mask = causal_mask(h.shape[1], h.shape[1], window=gqa.config.sliding_window, device=h.device)
    _, q = queries(w, h, turn)
    kv = keys(w, h, turn)
    k, v = kv.k[:, :, w.shared_by], kv.v[:, :, w.shared_by]
    o = fused_attention(q, k, v, mask, w.config.scale)
    return output(o, w.W_O, w.b_O, w.config.n_heads)


def unmasked(gqa: GroupedProjections, trace: GroupedTrace) -> Tensor:
    """Return the logits of a trace of all the layer's heads before the mask [b,h,t,s]."""
    return logits(gqa.weights(), trace.q, trace.k)


def columns(gqa: GroupedProjections, trace: GroupedTrace) -> tuple[Tensor, Tensor]:
    """Return the logits of a trace's keys and, last, the sink [b,h,t,s+1]; those seen [b,t,s+1]."""
    scores = unmasked(gqa, trace)
    seen = torch.nn.functional.pad(trace.mask, (0, 1), value=True)
    told = torch.cat((scores, of_sink(scores, gqa.weights().sink)), dim=-1)
    return told, seen.expand(len(scores), -1, -1)


def weighed(gqa: GroupedProjections, trace: GroupedTrace, attention: Tensor) -> GroupedTrace:
    """Return the trace with another attention [b,h,t,s]."""
    w = gqa.weights()
    o = of_each(attention, trace.v[:, :, w.shared_by])
    u = output(o, w.W_O, w.b_O, w.config.n_heads)
    return replace(trace, attention=attention, o=o, u=u)
