"""MLA over the tokens of chosen blocks: its traces, and its layer.

It runs as DSA does, in DSA's own formulas: the logits of all keys are made, and those that are not
chosen are masked.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from mla_engine.indexed import IndexedLatentAttention
from mla_engine.indexed.forms import IndexedAbsorbedTrace, IndexedTrace, ScoresOverChoice
from mla_engine.latent.projections import Latents, latents_of
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
from mla_engine.pooled_index.cache import PooledIndexCache
from mla_engine.pooled_index.config import PooledIndexConfig
from mla_engine.pooled_index.indexer import (
    Index,
    IndexBlocks,
    PoolingWeights,
    index_blocks,
    indexed,
)
from mla_engine.rope import Turn
from mla_engine.trace import Trace
from mla_engine.weights import Weights


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


class PooledIndexAttention(IndexedLatentAttention):
    """DSA's layer with one index key for a block of tokens (GLM-5.3-Flash).

    It chooses whole blocks, and scores and keeps `pooling` times fewer keys. Its methods are those
    of IndexedLatentAttention; `decode` takes a PooledIndexCache. Layers may share a choice. Its
    parameters are DSA's, and those of the gates: W_IZ [a,x,d] and b_IZ [a,m,x], a = 1. A shared
    layer has none of an indexer: they are None.
    """

    config_type, cache_type, index_type = PooledIndexConfig, PooledIndexCache, Index
    traces: Mapping = {LatentTrace: PooledIndexTrace, AbsorbedTrace: PooledIndexAbsorbedTrace}

    def _build(self, weights: Weights) -> None:
        super()._build(weights)
        c = self.config
        self.W_IZ = self.b_IZ = None
        if not c.index_shared:
            gates, places = (1, c.d_index, c.d_model), (1, c.pooling, c.d_index)
            self.W_IZ = weights.shared("W_IZ", *gates, fan_in=c.d_model)
            self.b_IZ = weights.shared("b_IZ", *places, fan_in=c.d_model)

    def pooling(self) -> PoolingWeights:
        """Return the indexer's weights and those of the gates."""
        return PoolingWeights(self.indexer(), self.W_IZ, self.b_IZ)

    def keys_of(self, h: Tensor, turn: Turn | None) -> tuple[Latents, IndexBlocks | None]:
        """Return latents of h [b,s,d], and blocks where the layer chooses."""
        return self.keys_after(h, turn, self.empty_cache(PooledIndexCache, len(h)))[:2]

    def keys_after(
        self, h: Tensor, turn: Turn | None, cache: PooledIndexCache
    ) -> tuple[Latents, IndexBlocks | None, PooledIndexCache]:
        """Return latents and blocks of a cache and of h [b,s,d] after it; the longer cache."""
        latents = latents_of(self.weights(), h, turn)
        c_KV = torch.cat((cache.c_KV, latents.c_KV), dim=1)
        k_R = latents.k_R if cache.k_R is None else torch.cat((cache.k_R, latents.k_R), dim=1)
        kept = {"c_KV": c_KV, "k_R": c_KV[..., :0] if k_R is None else k_R}
        blocks = None
        if not self.config.index_shared:
            blocks, more = index_blocks(self.pooling(), h, cache.waiting, cache.k_E)
            kept |= more
        return latents._replace(c_KV=c_KV, k_R=k_R), blocks, cache.longer(h.shape[1], **kept)

    def known_keys(self, k_E: Tensor | None) -> IndexBlocks:
        """Return blocks whose index keys [b,i,x] were made before."""
        return IndexBlocks(None, None, None, None, k_E)

    def choose(
        self, h: Tensor, c_Q: Tensor | None, blocks: IndexBlocks, _turn: Turn | None, mask: Tensor
    ) -> Index:
        """Choose blocks for h [b,t,d] and its query latents [b,t,l]; nothing is rotated."""
        return indexed(self.pooling(), h, c_Q, blocks, mask)
