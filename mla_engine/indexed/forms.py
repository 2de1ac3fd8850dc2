"""MLA over the keys that the indexer chooses: its traces, and its two forms over weights.

A run makes the logits of all keys, as transformers does, and masks those that are not chosen: so
the trace can say how much attention the choice leaves out. A kernel reads the chosen keys only;
that is what the costs count. Arguments are valid here and fit each other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from kvcount.refusals import RefusedError
from mla_engine.cache import Cache
from mla_engine.indexed.indexer import Index, IndexedProjections
from mla_engine.latent import forms as latent
from mla_engine.latent.projections import Latents, LatentWeights, Queries, queries_of, turn_of
from mla_engine.latent.trace import (
    AbsorbedQueries,
    AbsorbedTrace,
    Attention,
    ContentQueries,
    HeadKeys,
    KVLatents,
    LatentAttention,
    LatentTrace,
    Output,
    RotaryKeys,
    RotaryQueries,
    Scores,
    masked_sum,
)
from mla_engine.layer import Places
from mla_engine.ops import causal_mask, softmax
from mla_engine.rope import Turn, per_head
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoresOverChoice(Scores):
    """Logits of all keys, of which those that are chosen enter the softmax."""

    left_out: Tensor  # [b,h,t], what dense attention gives to the keys that are not chosen

    @property
    def visible(self) -> Tensor:
        """True where a query attends to a key, that is, to the chosen ones [b,1,t,s]."""
        return self.chosen.unsqueeze(1)


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedTrace(
    Output,
    Attention,
    ScoresOverChoice,
    HeadKeys,
    Index,
    RotaryKeys,
    KVLatents,
    RotaryQueries,
    ContentQueries,
    Trace,
):
    """MLA with an indexer, expanded form: keys and values of every head stand in full."""

    form = "indexed"
    as_in = LatentTrace


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedAbsorbedTrace(
    Output,
    LatentAttention,
    ScoresOverChoice,
    Index,
    RotaryKeys,
    KVLatents,
    RotaryQueries,
    AbsorbedQueries,
    Trace,
):
    """MLA with an indexer, absorbed form: queries move into latent space, no k_C and no v_C."""

    form = "indexed_absorbed"
    as_in = AbsorbedTrace


EitherTrace = IndexedTrace | IndexedAbsorbedTrace


def over_choice(
    form: Callable,
    w: LatentWeights,
    h: Tensor,
    queries: Queries,
    latents: Latents,
    index: Index,
    mask: Tensor,
    traces: Mapping[type, type[EitherTrace]],
) -> EitherTrace:
    """Run MLA in `form`, expanded or absorbed, over the chosen keys; the trace is of `traces`."""
    run = form(w, h, queries, latents, index.chosen.unsqueeze(1))
    beside = {"mask": mask, "left_out": left_out(run, index.chosen, mask)}
    return traces[type(run)](**(vars(run) | vars(index) | beside))


def left_out(run: LatentTrace | AbsorbedTrace, chosen: Tensor, mask: Tensor) -> Tensor:
    """Return the attention that dense MLA gives to the keys that are not chosen [b,h,t]."""
    dense = softmax(masked_sum(run.scores_C, run.scores_R, mask))
    return dense.masked_fill(chosen.unsqueeze(1), 0).sum(-1)


def index_of(
    layer: IndexedProjections,
    h: Tensor,
    queries: Queries,
    keys: tuple | None,
    turn: Turn | None,
    mask: Tensor,
    given: Tensor | None,
) -> Index:
    """Choose keys for h [b,t,d]; a layer that shares a choice is given it [b,t,s]."""
    if layer.config.index_shared:
        return layer.index_type(chosen=shared_choice(given, mask, len(h)))
    return layer.choose(h, queries.c_Q, keys, turn, mask)


def shared_choice(given: Tensor | None, mask: Tensor, batch: int) -> Tensor:
    """Return the choice of another layer [b,t,s], of the keys that are seen here."""
    if mask.is_meta:  # an estimate of a step holds other tokens than the choice is of
        return mask.expand(batch, -1, -1).clone()
    if given is None:
        raise RefusedError("no_choice")
    return given.to(mask.device).logical_and(mask)


def prefill(
    layer: IndexedProjections,
    h: Tensor,
    positions: Tensor,
    heads: Places = slice(None),
    rows: slice = slice(None),
    c_KV: Tensor | None = None,
    k_R: Tensor | None = None,
    of_index: Tensor | None = None,
    given: Tensor | None = None,
    form: Callable = latent.expanded,
) -> EitherTrace:
    """Attend from the chosen rows of h to all of h, whose latents may be known already.

    `of_index` are the index keys beside them, `given` is the choice for a shared layer; `form` is
    MLA's, expanded or absorbed.
    """
    w, turn = layer.weights(heads), turn_of(layer.config, positions)
    of_rows = per_head(turn, rows)
    queries = queries_of(w, h[:, rows], of_rows)
    if c_KV is None:
        latents, keys = layer.keys_of(h, turn)
    else:
        latents, keys = Latents(None, c_KV, None, k_R), layer.known_keys(of_index)
    mask = causal_mask(h.shape[1], h.shape[1], rows, device=h.device)
    index = index_of(layer, h[:, rows], queries, keys, of_rows, mask, given)
    return over_choice(form, w, h, queries, latents, index, mask, layer.traces)


def compressed(layer: IndexedProjections, h: Tensor, positions: Tensor) -> Cache:
    """Return the part of h that no head owns, as a cache."""
    empty = layer.empty_cache(layer.cache_type, len(h))
    *_, cache = layer.keys_after(h, turn_of(layer.config, positions), empty)
    return replace(cache, positions=positions)


def decode(
    layer: IndexedProjections,
    h: Tensor,
    cache: Cache,
    positions: Tensor,
    given: Tensor | None = None,
    form: Callable = latent.absorbed,
) -> tuple[EitherTrace, Cache]:
    """Attend from all of h to the keys that the cache holds and to those of h."""
    w, turn = layer.weights(), turn_of(layer.config, positions)
    queries = queries_of(w, h, per_head(turn))
    latents, keys, cache = layer.keys_after(h, turn, cache)
    mask = causal_mask(cache.length, h.shape[1], device=h.device)
    index = index_of(layer, h, queries, keys, per_head(turn), mask, given)
    return over_choice(form, w, h, queries, latents, index, mask, layer.traces), cache


def fused(layer: IndexedProjections, h: Tensor, positions: Tensor) -> Tensor:
    """Return u [b,t,d], of the expanded form, by torch's own attention over the chosen keys."""
    w, turn = layer.weights(), turn_of(layer.config, positions)
    queries = queries_of(w, h, per_head(turn))
    latents, keys = layer.keys_of(h, turn)
    mask = causal_mask(h.shape[1], h.shape[1], device=h.device)
    index = index_of(layer, h, queries, keys, per_head(turn), mask, None)
    return latent.fused_over(w, queries, latents, index.chosen.unsqueeze(1))
