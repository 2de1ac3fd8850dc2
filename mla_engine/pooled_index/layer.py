"""MLA over the tokens of chosen blocks: its traces, its two forms over weights, and its layer.

A run makes the logits of all keys and masks those that are not chosen, as DSA does. Arguments are
valid here and fit each other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mla_engine.indexed.forms import (
    IndexedAbsorbedTrace,
    IndexedTrace,
    ScoresOverChoice,
    over_choice,
    shared_choice,
)
from mla_engine.latent import forms as latent
from mla_engine.latent.projections import Latents, Queries, latents_of, queries_of
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
)
from mla_engine.layer import Places
from mla_engine.ops import causal_mask
from mla_engine.pooled_index import forms
from mla_engine.pooled_index.cache import PooledIndexCache
from mla_engine.pooled_index.indexer import (
    Index,
    IndexBlocks,
    PooledIndexProjections,
    index_blocks,
    indexed,
)
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledIndexTrace(
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
    """Expanded form: keys and values of every head stand in full."""

    form = "pooled_index"
    as_in = IndexedTrace


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledIndexAbsorbedTrace(
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
    """Absorbed form: queries move into latent space, no k_C and no v_C."""

    form = "pooled_index_absorbed"
    as_in = IndexedAbsorbedTrace


EitherTrace = PooledIndexTrace | PooledIndexAbsorbedTrace
TRACES = {LatentTrace: PooledIndexTrace, AbsorbedTrace: PooledIndexAbsorbedTrace}


def after(
    layer: PooledIndexProjections, h: Tensor, cache: PooledIndexCache
) -> tuple[Latents, IndexBlocks | None, PooledIndexCache]:
    """Return latents, blocks and the next cache after the tokens h [b,s,d] behind a cache's."""
    latents = latents_of(layer.weights(), h, None)
    c_KV = torch.cat((cache.c_KV, latents.c_KV), dim=1)
    k_R = latents.k_R if cache.k_R is None else torch.cat((cache.k_R, latents.k_R), dim=1)
    kept = {"c_KV": c_KV, "k_R": c_KV[..., :0] if k_R is None else k_R}
    blocks = None
    if not layer.config.index_shared:
        blocks, more = index_blocks(layer.pooling(), h, cache.waiting, cache.k_E)
        kept |= more
    return latents._replace(c_KV=c_KV, k_R=k_R), blocks, cache.longer(h.shape[1], **kept)


def empty(layer: PooledIndexProjections, h: Tensor) -> PooledIndexCache:
    """Return the cache before h."""
    return PooledIndexCache.empty(layer.config, len(h), layer.dtype, h.device)


def index_of(
    layer: PooledIndexProjections,
    h: Tensor,
    queries: Queries,
    blocks: IndexBlocks | None,
    mask: Tensor,
    given: Tensor | None,
) -> Index:
    """Choose keys for h [b,t,d]; a layer that shares a choice is given it [b,t,s]."""
    if layer.config.index_shared:
        return Index(chosen=shared_choice(given, mask, len(h)))
    return indexed(layer.pooling(), h, queries.c_Q, blocks, mask)


def prefill(
    layer: PooledIndexProjections,
    h: Tensor,
    _positions: Tensor,
    heads: Places = slice(None),
    rows: slice = slice(None),
    c_KV: Tensor | None = None,
    k_R: Tensor | None = None,
    k_E: Tensor | None = None,
    given: Tensor | None = None,
    form: Callable = latent.expanded,
) -> EitherTrace:
    """Attend from the chosen rows of h to all of h: c_KV, k_R and k_E may be known already.

    `given` is the choice for a shared layer; `form` is MLA's, expanded or absorbed.
    """
    w = layer.weights(heads)
    queries = queries_of(w, h[:, rows], None)
    if c_KV is None:
        latents, blocks, _ = after(layer, h, empty(layer, h))
    else:
        latents = Latents(None, c_KV, None, k_R)
        blocks = IndexBlocks(None, None, None, None, k_E)
    mask = causal_mask(h.shape[1], h.shape[1], rows, device=h.device)
    index = index_of(layer, h[:, rows], queries, blocks, mask, given)
    return over_choice(form, w, h, queries, latents, index, mask, TRACES)


def compressed(layer: PooledIndexProjections, h: Tensor, positions: Tensor) -> PooledIndexCache:
    """Return the part of h that no head owns, as a cache."""
    return replace(after(layer, h, empty(layer, h))[-1], positions=positions)


def decode(
    layer: PooledIndexProjections,
    h: Tensor,
    cache: PooledIndexCache,
    _positions: Tensor,
    given: Tensor | None = None,
    form: Callable = latent.absorbed,
) -> tuple[EitherTrace, PooledIndexCache]:
    """Attend from all of h to the keys that the cache holds and to those of h."""
    w = layer.weights()
    queries = queries_of(w, h, None)
    latents, blocks, longer = after(layer, h, cache)
    mask = causal_mask(longer.length, h.shape[1], device=h.device)
    index = index_of(layer, h, queries, blocks, mask, given)
    return over_choice(form, w, h, queries, latents, index, mask, TRACES), longer


def fused(layer: PooledIndexProjections, h: Tensor, _positions: Tensor) -> Tensor:
    """Return u [b,t,d], of the expanded form, by torch's own attention over the chosen keys."""
    w = layer.weights()
    queries = queries_of(w, h, None)
    latents, blocks, _ = after(layer, h, empty(layer, h))
    mask = causal_mask(h.shape[1], h.shape[1], device=h.device)
    index = index_of(layer, h, queries, blocks, mask, None)
    return latent.fused_over(w, queries, latents, index.chosen.unsqueeze(1))


class PooledIndexAttention(PooledIndexProjections):
    """DSA's layer with one index key for a block of tokens (GLM-5.3-Flash).

    It chooses whole blocks, and scores and keeps `pooling` times fewer keys. Its methods are those
    of IndexedLatentAttention; `decode` takes a PooledIndexCache. Layers may share a choice.
    """

    _prefill, _compressed = staticmethod(forms.prefill), staticmethod(forms.compressed)
    _decoded, _own_cache = staticmethod(forms.decode), PooledIndexCache
