"""Entries of a run: of keys with values, and the index keys that the indexer scores.

The indexer (DeepSeek-V4, equations 13 to 17) is the lightning indexer of DeepSeek-V3.2 over pooled
keys: I[t,i] = sum over j of w_I[t,j] ReLU(q_I[t,j] . k_E[i]), scaled by d_index^-1/2 and, in w_I,
by n_index_heads^-1/2.
"""

from typing import NamedTuple

import torch
from torch import Tensor, einsum

from mla_engine.ops import highest, product
from mla_engine.pooled.cache import INDEX_WAITING, WAITING, PooledCache
from mla_engine.pooled.pooling import Pooled, PoolWeights, Waiting, members, places, pooled
from mla_engine.pooled.projections import PooledProjections, last_rotated, turn_of
from mla_engine.rope import Turn


class Entries(NamedTuple):
    """The entries in a trace; kv_E are all, what it is made of only the new ones'."""

    members: Tensor | None = None
    c_E: Tensor | None = None
    z_E: Tensor | None = None
    gates: Tensor | None = None
    kv_E_pre: Tensor | None = None
    kv_E_normed: Tensor | None = None
    kv_E: Tensor | None = None


class IndexEntries(NamedTuple):
    """The entries that the indexer scores in a trace, as Entries."""

    c_IE: Tensor | None = None
    z_IE: Tensor | None = None
    gates_I: Tensor | None = None
    k_E_pre: Tensor | None = None
    k_E_normed: Tensor | None = None
    k_E: Tensor | None = None


def entries_of(
    layer: PooledProjections, h: Tensor, cache: PooledCache, positions: Tensor
) -> tuple[Entries, dict[str, Tensor]]:
    """Return the entries after the tokens h [b,s,d] behind a cache's; what it keeps then."""
    config = layer.config
    if not config.pooling:
        return Entries(), {}
    waiting = cache.waiting(WAITING)
    made, every, waits = _entries(layer, layer.pooling(), h, (waiting, cache.kv_E), positions)
    stand_for = members(every.shape[1], config.pooling, config.n_series, h.device)
    kept = dict(zip(WAITING, waits, strict=True)) | {"kv_E": every}
    return Entries(stand_for, *made, every), kept


def index_entries_of(
    layer: PooledProjections, h: Tensor, cache: PooledCache, positions: Tensor
) -> tuple[IndexEntries, dict[str, Tensor]]:
    """Return the entries that the indexer scores, as entries_of."""
    if not layer.config.chooses:
        return IndexEntries(), {}
    held = cache.waiting(INDEX_WAITING), cache.k_E
    made, every, waits = _entries(layer, layer.index_pooling(), h, held, positions)
    kept = dict(zip(INDEX_WAITING, waits, strict=True)) | {"k_E": every}
    return IndexEntries(*made, every), kept


def _entries(
    layer: PooledProjections,
    w: PoolWeights,
    h: Tensor,
    held: tuple[Waiting, Tensor],
    positions: Tensor,
) -> tuple[Pooled, Tensor, Waiting]:
    config, (waiting, earlier) = layer.config, held
    made, waits = pooled(w, h, waiting)
    at = places(positions, config.pooling, waiting.c.shape[1])
    rotated = last_rotated(config, made.normed, turn_of(config, at))
    return made, torch.cat((earlier, rotated), dim=1), waits


def visible_entries(tokens: int, held: int, new: int, rows: slice, device: torch.device) -> Tensor:
    """Return True where a query sees an entry: its block of `tokens` is full; bool [t,i]."""
    query = torch.arange(held, held + new, device=device)[rows]
    entry = torch.arange((held + new) // tokens, device=device)
    return entry < ((query + 1) // tokens).unsqueeze(-1)


class Index(NamedTuple):
    """The query side of the indexer and its scores in a trace."""

    q_I_pre: Tensor | None = None
    q_I: Tensor | None = None
    w_I: Tensor | None = None
    scores_IE: Tensor | None = None
    index_E: Tensor | None = None


def index_of(
    layer: PooledProjections, h: Tensor, c_Q: Tensor, k_E: Tensor | None, turn: Turn | None
) -> Index:
    """Score entries [b,t,i] by h [b,t,d], the query latent [b,t,l] and index keys [b,i,x].

    In max(float32, dtype).
    """
    config = layer.config
    if not config.chooses:
        return Index()
    q_I_pre = product("btl,jxl->btjx", c_Q, layer.W_IQ)
    q_I = last_rotated(config, q_I_pre, turn)
    w_I = product("btd,jd->btj", h, layer.W_IW) * config.n_index_heads**-0.5
    wide = torch.promote_types(h.dtype, torch.float32)
    scores = einsum("btjx,bix->bjti", q_I.to(wide), k_E.to(wide))
    scores = scores.mul_(config.d_index**-0.5).relu_()
    index = einsum("btj,bjti->bti", w_I.to(wide), scores)
    return Index(q_I_pre, q_I, w_I, scores, index)


def choice(index: Tensor, visible: Tensor, topk: int) -> Tensor:
    """Choose the `topk` visible entries of the highest index, the earliest of equals; bool [b,t,i].

    Args:
        index: [b,t,i].
        visible: bool [t,i].
        topk: how many; a query that sees no more chooses all.
    """
    if not index.shape[-1]:
        return visible.expand(index.shape)
    return highest(index.masked_fill(~visible, -torch.inf), topk) & visible
