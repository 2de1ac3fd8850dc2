"""The entries of a run: of keys with values, and beside them of index keys."""

from typing import NamedTuple

import torch
from torch import Tensor

from mla_engine.pooled.cache import INDEX_WAITING, WAITING, PooledCache
from mla_engine.pooled.pooling import Pooled, PoolWeights, Waiting, members, places, pooled
from mla_engine.pooled.projections import PooledProjections, last_rotated, turn_of


class Entries(NamedTuple):
    """The entries in a trace; kv_E are all, what it is made of the new ones' alone."""

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
    """The entries once the tokens h [b,s,d] have followed those of a cache; what it keeps then."""
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
    """As entries_of, of the indexer's own."""
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
    """True where a query sees an entry: all of its block's `tokens` stand there; bool [t,i]."""
    query = torch.arange(held, held + new, device=device)[rows]
    entry = torch.arange((held + new) // tokens, device=device)
    return entry < ((query + 1) // tokens).unsqueeze(-1)
