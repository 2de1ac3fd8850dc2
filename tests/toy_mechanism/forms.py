"""Attention with tied keys and values in formulas over weights."""

from dataclasses import replace
from typing import NamedTuple

import torch
from mla_engine.toy.cache import TiedCache
from mla_engine.toy.config import TiedConfig
from mla_engine.toy.trace import TiedTrace
from torch import Tensor, einsum

from mla_engine.layer import AttentionLayer, Places
from mla_engine.ops import causal_mask, output, softmax


class TiedWeights(NamedTuple):
    """The weights of the chosen heads."""

    config: TiedConfig
    W_Q: Tensor
    W_KV: Tensor
    W_O: Tensor


def queries(w: TiedWeights, h: Tensor) -> Tensor:
    """From h [b,t,d] to q [b,t,h,k]."""
    return einsum("btd,hkd->bthk", h, w.W_Q)


def keys(w: TiedWeights, h: Tensor) -> Tensor:
    """From h [b,s,d] to what is key and value [b,s,h,k]."""
    return einsum("bsd,hkd->bshk", h, w.W_KV)


def logits(w: TiedWeights, q: Tensor, kv: Tensor) -> Tensor:
    """Scaled, unmasked [b,h,t,s]."""
    return einsum("bthk,bshk->bhts", q, kv).mul_(w.config.scale)


def attend(w: TiedWeights, h: Tensor, q: Tensor, kv: Tensor, mask: Tensor) -> TiedTrace:
    """From queries and keys to the output."""
    scores = logits(w, q, kv).masked_fill_(~mask, -torch.inf)
    attention = softmax(scores)
    o = einsum("bhts,bshk->bthk", attention, kv)
    u = output(o, w.W_O, None, w.config.n_heads)
    return TiedTrace(h=h, q=q, kv=kv, scores=scores, mask=mask, attention=attention, o=o, u=u)


def prefill(
    layer: AttentionLayer,
    h: Tensor,
    _positions: Tensor,
    heads: Places = slice(None),
    rows: slice = slice(None),
) -> TiedTrace:
    """The chosen rows of h as queries, all of h as keys."""
    w = layer.weights(heads)
    mask = causal_mask(h.shape[1], h.shape[1], rows, device=h.device)
    return attend(w, h, queries(w, h[:, rows]), keys(w, h), mask)


def decode(
    layer: AttentionLayer, h: Tensor, cache: TiedCache, _positions: Tensor
) -> tuple[TiedTrace, TiedCache]:
    """All of h as queries, what the cache holds and h as keys."""
    w = layer.weights()
    cache = cache.append(keys(w, h))
    mask = causal_mask(cache.length, h.shape[1], device=h.device)
    return attend(w, h, queries(w, h), cache.kv, mask), cache


def unmasked(layer: AttentionLayer, trace: TiedTrace) -> Tensor:
    """The logits of a trace of all the layer's heads before the mask [b,h,t,s]."""
    return logits(layer.weights(), trace.q, trace.kv)


def weighed(layer: AttentionLayer, trace: TiedTrace, attention: Tensor) -> TiedTrace:
    """The trace with another attention [b,h,t,s]."""
    w = layer.weights()
    o = einsum("bhts,bshk->bthk", attention, trace.kv)
    return replace(trace, attention=attention, o=o, u=output(o, w.W_O, None, w.config.n_heads))
