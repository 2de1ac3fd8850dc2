"""Attention over a window and pooled entries, in formulas over weights; arguments fit.

A run makes the logits of all its keys and entries and masks those that a query does not see or
choose. What a kernel needs, which reads only the window and the chosen entries, the costs count.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, einsum

from mla_engine.layer import Places
from mla_engine.ops import against_shared, attended, causal_mask, hidden_, of_shared, softmax
from mla_engine.pooled.cache import PooledCache
from mla_engine.pooled.entries import (
    Index,
    choice,
    entries_of,
    index_entries_of,
    index_of,
    visible_entries,
)
from mla_engine.pooled.projections import (
    PooledProjections,
    PooledWeights,
    queries_of,
    tokens_of,
    turn_of,
    turned_back,
)
from mla_engine.rope import Turn, per_head
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledTrace(Trace):
    """CSA, HCA or only a window; i counts entries, p the tokens that one pools.

    attention, attention_E and sink_mass are of one softmax: over keys and entries, with what the
    sink takes, they add up to 1. A step has only the new entries' makings.
    """

    h: Tensor  # [b,t,d]
    c_Q_pre: Tensor  # [b,t,l]
    c_Q: Tensor  # [b,t,l]
    q_pre: Tensor  # [b,t,h,k]
    q_normed: Tensor  # [b,t,h,k]
    q: Tensor  # [b,t,h,k], its last r rotated
    kv_T_pre: Tensor  # [b,s,k]
    kv_T_normed: Tensor  # [b,s,k]
    kv_T: Tensor  # [b,s,k], its last r rotated
    members: Tensor | None  # int64 [i,p], the tokens that an entry stands for; -1: none
    c_E: Tensor | None  # [b,s,a,k], None in all of the entries where nothing is pooled
    z_E: Tensor | None  # [b,s,a,k]
    gates: Tensor | None  # [b,i,p,k], of the new entries
    kv_E_pre: Tensor | None  # [b,i,k], of the new entries
    kv_E_normed: Tensor | None  # [b,i,k], of the new entries
    kv_E: Tensor | None  # [b,i,k], its last r rotated
    q_I_pre: Tensor | None  # [b,t,j,x], None in all of the indexer where nothing is chosen
    q_I: Tensor | None  # [b,t,j,x], its last r rotated
    w_I: Tensor | None  # [b,t,j], scaled
    c_IE: Tensor | None  # [b,s,a,x]
    z_IE: Tensor | None  # [b,s,a,x]
    gates_I: Tensor | None  # [b,i,p,x], of the new entries
    k_E_pre: Tensor | None  # [b,i,x], of the new entries
    k_E_normed: Tensor | None  # [b,i,x], of the new entries
    k_E: Tensor | None  # [b,i,x], its last r rotated
    scores_IE: Tensor | None  # [b,j,t,i], scaled, at least 0, unmasked
    index_E: Tensor | None  # [b,t,i], unmasked
    chosen_E: Tensor | None  # bool [b,t,i], True where the query attends to the entry
    scores_T: Tensor  # [b,h,t,s], scaled, unmasked
    scores_E: Tensor | None  # [b,h,t,i], scaled, of all entries
    mask: Tensor  # bool [t,s], True where the query sees the key
    attention: Tensor  # [b,h,t,s]
    attention_E: Tensor | None  # [b,h,t,i], 0 where an entry is not chosen
    sink_mass: Tensor  # [b,h,t]
    o_turned: Tensor  # [b,t,h,v], its last r as the keys were rotated
    o: Tensor  # [b,t,h,v]
    c_O: Tensor  # [b,t,y,z], of the groups of these heads
    u: Tensor  # [b,t,d]

    form = "pooled"

    @property
    def scores(self) -> Tensor:
        """The logits of the keys in the window, -inf elsewhere [b,h,t,s]."""
        return hidden_(self.scores_T.clone(), self.mask)


class Attended(NamedTuple):
    """From logits to the output, in a trace."""

    scores_T: Tensor
    scores_E: Tensor | None
    attention: Tensor
    attention_E: Tensor | None
    sink_mass: Tensor
    o_turned: Tensor
    o: Tensor
    c_O: Tensor
    u: Tensor


def after(
    layer: PooledProjections,
    h: Tensor,
    cache: PooledCache,
    positions: Tensor,
    heads: Places = slice(None),
    rows: slice = slice(None),
) -> tuple[PooledTrace, PooledCache]:
    """Attend from the chosen rows of h to what a cache holds and to all of h."""
    config, w, turn = layer.config, layer.weights(heads), turn_of(layer.config, positions)
    of_rows, new = per_head(turn, rows), h.shape[1]
    queries = queries_of(w, h[:, rows], of_rows)
    tokens = tokens_of(w, h, turn)
    before = cache.kv_T[:, max(0, cache.kv_T.shape[1] - config.window + 1) :]
    tokens = tokens._replace(kv_T=torch.cat((before, tokens.kv_T), dim=1))
    entries, waiting = entries_of(layer, h, cache, positions)
    keys, index_waiting = index_entries_of(layer, h, cache, positions)
    index = index_of(layer, h[:, rows], queries.c_Q, keys.k_E, of_rows)
    chosen = chosen_of(layer, index, len(h), cache.length, new, rows)
    mask = causal_mask(tokens.kv_T.shape[1], new, rows, config.window, h.device)
    done = attend(w, queries.q, tokens.kv_T, entries.kv_E, mask, chosen, of_rows)
    parts = (queries, tokens, entries, index, keys, done)
    fields = {name: x for part in parts for name, x in part._asdict().items()}
    window = tokens.kv_T[:, max(0, tokens.kv_T.shape[1] - config.window) :]
    longer = cache.longer(new, kv_T=window, **waiting, **index_waiting)
    return PooledTrace(h=h, mask=mask, chosen_E=chosen, **fields), longer


def prefill(
    layer: PooledProjections,
    h: Tensor,
    positions: Tensor,
    heads: Places = slice(None),
    rows: slice = slice(None),
) -> PooledTrace:
    """Attend from the chosen rows of h to all of h."""
    empty = PooledCache.empty(layer.config, len(h), layer.dtype, h.device)
    return after(layer, h, empty, positions, heads, rows)[0]


def chosen_of(
    layer: PooledProjections, index: Index, batch: int, held: int, new: int, rows: slice
) -> Tensor | None:
    """Return the entries that each query attends to, bool [b,t,i]; None where nothing is pooled."""
    config = layer.config
    if not config.pooling:
        return None
    visible = visible_entries(config.pooling, held, new, rows, layer.device)
    if config.chooses:
        return choice(index.index_E, visible, config.index_topk)
    return visible.expand(batch, -1, -1)


def attend(
    w: PooledWeights,
    q: Tensor,
    kv_T: Tensor,
    kv_E: Tensor | None,
    mask: Tensor,
    chosen: Tensor | None,
    turn: Turn | None,
) -> Attended:
    """Weigh window, chosen entries and sink by one softmax, and sum up what they weigh."""
    scores_T = against_shared(q * w.config.scale, kv_T)
    logits, scores_E = [hidden_(scores_T.clone(), mask)], None
    if kv_E is not None:
        scores_E, chosen = against_shared(q * w.config.scale, kv_E), chosen.unsqueeze(1)
        logits.append(hidden_(scores_E.clone(), chosen))
    logits.append(w.sink[:, None, None].expand(*scores_T.shape[:3], 1))
    parts = softmax(torch.cat(logits, dim=-1)).split([part.shape[-1] for part in logits], dim=-1)
    attention, attention_E, sink_mass = parts[0], None, parts[-1].squeeze(-1)
    o_turned = attended(of_shared, attention, kv_T, mask)
    if kv_E is not None:
        attention_E = parts[1]
        o_turned = o_turned + attended(of_shared, attention_E, kv_E, chosen)
    o = turned_back(w.config, o_turned, turn)
    shares = attention, attention_E, sink_mass
    return Attended(scores_T, scores_E, *shares, o_turned, o, *grouped_output(w, o))


def grouped_output(w: PooledWeights, o: Tensor) -> tuple[Tensor, Tensor]:
    """Make a latent of each group of heads [b,t,y,z] of o [b,t,h,v], and u [b,t,d] of these."""
    c_O = [einsum("bthv,hzv->btz", o[:, :, heads], w.W_DO[heads]) for heads in w.groups]
    c_O = torch.stack(c_O, dim=2)
    return c_O, einsum("btyz,dyz->btd", c_O, w.W_UO)


def fused(layer: PooledProjections, h: Tensor, positions: Tensor) -> Tensor:
    """Return only u [b,t,d]; torch has no kernel with a sink, so that it is the run's."""
    return prefill(layer, h, positions).u


def unmasked(_layer: PooledProjections, trace: PooledTrace) -> Tensor:
    """Return the logits of the keys in a trace before the mask [b,h,t,s]."""
    return trace.scores_T
