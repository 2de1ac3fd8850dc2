"""MLA over the keys that the indexer chooses: its traces, and its two forms over weights.

A run makes the logits of all keys, as transformers does, and masks those that are not chosen: so
the trace can say how much attention the choice leaves out. A kernel reads the chosen keys only;
that is what the costs count. Arguments are valid here and fit each other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from mla_engine.indexed.cache import IndexedCache
from mla_engine.indexed.indexer import (
    Index,
    IndexedProjections,
    IndexKeys,
    index_keys,
    index_queries,
    indexed,
)
from mla_engine.latent import forms as latent
from mla_engine.latent.projections import (
    Latents,
    LatentWeights,
    Queries,
    latents_of,
    queries_of,
    turn_of,
)
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
from mla_engine.refusals import RefusedError
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
OVER_CHOICE = {LatentTrace: IndexedTrace, AbsorbedTrace: IndexedAbsorbedTrace}


def over_choice(
    form: Callable,
    w: LatentWeights,
    h: Tensor,
    queries: Queries,
    latents: Latents,
    index: Index,
    mask: Tensor,
    traces: Mapping[type, type[EitherTrace]] = OVER_CHOICE,
) -> EitherTrace:
    """Run MLA in `form`, expanded or absorbed, over the chosen keys; the trace is of `traces`."""
    run = form(w, h, queries, latents, index.chosen.unsqueeze(1))
    beside = {"mask": mask, "left_out": left_out(run, index.chosen, mask)}
    return traces[type(run)](**(vars(run) | vars(index) | beside))


def left_out(run: LatentTrace | AbsorbedTrace, chosen: Tensor, mask: Tensor) -> Tensor:
    """Return the attention that dense MLA gives to the keys that are not chosen [b,h,t]."""
    dense = softmax(masked_sum(run.scores_C, run.scores_R, mask))
    return dense.masked_fill(chosen.unsqueeze(1), 0).sum(-1)


def keys_of(
    layer: IndexedProjections, h: Tensor, turn: Turn | None
) -> tuple[Latents, IndexKeys | None]:
    """Return what a cache keeps of h [b,s,d]: latents, and index keys where the layer chooses."""
    shared = layer.config.index_shared
    index = None if shared else index_keys(layer.indexer(), h, turn)
    return latents_of(layer.weights(), h, turn), index


def index_of(
    layer: IndexedProjections,
    h: Tensor,
    queries: Queries,
    keys: IndexKeys | None,
    turn: Turn | None,
    mask: Tensor,
    given: Tensor | None,
) -> Index:
    """Choose keys for h [b,t,d]; a layer that shares a choice is given it [b,t,s]."""
    if not layer.config.index_shared:
        w = layer.indexer()
        return indexed(w, index_queries(w, h, queries.c_Q, turn), keys, mask)
    return Index(chosen=shared_choice(given, mask, len(h)))


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
    k_I: Tensor | None = None,
    given: Tensor | None = None,
    form: Callable = latent.expanded,
) -> EitherTrace:
    """Attend from the chosen rows of h to all of h: c_KV, k_R and k_I may be known already.

    `given` is the choice for a shared layer; `form` is MLA's, expanded or absorbed.
    """
    w, turn = layer.weights(heads), turn_of(layer.config, positions)
    of_rows = per_head(turn, rows)
    queries = queries_of(w, h[:, rows], of_rows)
    if c_KV is None:
        latents, keys = keys_of(layer, h, turn)
    else:
        latents, keys = Latents(None, c_KV, None, k_R), IndexKeys(None, None, k_I)
    mask = causal_mask(h.shape[1], h.shape[1], rows, device=h.device)
    index = index_of(layer, h[:, rows], queries, keys, of_rows, mask, given)
    return over_choice(form, w, h, queries, latents, index, mask)


def compressed(layer: IndexedProjections, h: Tensor, positions: Tensor) -> IndexedCache:
    """Return the part of h that no head owns, as a cache."""
    latents, keys = keys_of(layer, h, turn_of(layer.config, positions))
    empty = IndexedCache.empty(layer.config, h.shape[0], layer.dtype, h.device)
    held = empty.append(latents.c_KV, latents.k_R, keys and keys.k_I)
    return replace(held, positions=positions)


def decode(
    layer: IndexedProjections,
    h: Tensor,
    cache: IndexedCache,
    positions: Tensor,
    given: Tensor | None = None,
    form: Callable = latent.absorbed,
) -> tuple[EitherTrace, IndexedCache]:
    """Attend from all of h to the keys that the cache holds and to those of h."""
    w, turn = layer.weights(), turn_of(layer.config, positions)
    of_queries = per_head(turn)
    queries = queries_of(w, h, of_queries)
    latents, keys = keys_of(layer, h, turn)
    cache = cache.append(latents.c_KV, latents.k_R, keys and keys.k_I)
    latents = latents._replace(c_KV=cache.c_KV, k_R=cache.k_R)
    keys = keys and keys._replace(k_I=cache.k_I)
    mask = causal_mask(cache.length, h.shape[1], device=h.device)
    index = index_of(layer, h, queries, keys, of_queries, mask, given)
    return over_choice(form, w, h, queries, latents, index, mask), cache


def fused(layer: IndexedProjections, h: Tensor, positions: Tensor) -> Tensor:
    """Return u [b,t,d], of the expanded form, by torch's own attention over the chosen keys."""
    w, turn = layer.weights(), turn_of(layer.config, positions)
    queries = queries_of(w, h, per_head(turn))
    latents, keys = keys_of(layer, h, turn)
    mask = causal_mask(h.shape[1], h.shape[1], device=h.device)
    index = index_of(layer, h, queries, keys, per_head(turn), mask, None)
    return latent.fused_over(w, queries, latents, index.chosen.unsqueeze(1))
