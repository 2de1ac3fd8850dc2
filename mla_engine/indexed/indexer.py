"""The lightning indexer (report of DeepSeek-V3.2-Exp, equation 1): its weights and its formulas.

I[t,s] = sum over j of w_I[t,j] ReLU(q_I[t,j] . k_I[s]): the index scores of all keys for a query,
which attends to the highest. q_I k_I is scaled by d_index^-1/2 and w_I by n_index_heads^-1/2
(DeepSeek-V3.2-Exp, inference/model.py, class Indexer). The published kernel first rotates q_I and
k_I by one Hadamard matrix, which leaves their products as they are, and then rounds them to FP8.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, einsum

from mla_engine.indexed.cache import IndexedCache
from mla_engine.indexed.config import IndexedConfig
from mla_engine.latent import MultiHeadLatentAttention
from mla_engine.latent.projections import Latents, latents_of
from mla_engine.ops import highest, layer_norm, product
from mla_engine.rope import Turn, rotate
from mla_engine.weights import Weights

EPS = 1e-6  # of the LayerNorm, in DeepSeek's code and in every module of transformers


class IndexerWeights(NamedTuple):
    """The weights of the indexer, which no attention head owns."""

    config: IndexedConfig
    W_IQ: Tensor  # [j,x,l]
    W_IK: Tensor  # [x,d]
    W_IW: Tensor  # [j,d]
    k_I_norm: Tensor  # [x]
    b_IK: Tensor  # [x]


class IndexQueries(NamedTuple):
    """The query side of the indexer."""

    q_I_pre: Tensor
    q_I: Tensor
    w_I: Tensor


class IndexKeys(NamedTuple):
    """The key side of the indexer: k_I is what a cache keeps."""

    k_I_pre: Tensor | None
    k_I_normed: Tensor | None
    k_I: Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Index:
    """The indexer in a trace; of a layer that shares its choice the choice."""

    q_I_pre: Tensor | None = None  # [b,t,j,x]
    q_I: Tensor | None = None  # [b,t,j,x], its first r rotated
    w_I: Tensor | None = None  # [b,t,j], scaled
    k_I_pre: Tensor | None = None  # [b,s,x]
    k_I_normed: Tensor | None = None  # [b,s,x]
    k_I: Tensor | None = None  # [b,s,x], its first r rotated
    scores_I: Tensor | None = None  # [b,j,t,s], scaled, at least 0, unmasked
    index: Tensor | None = None  # [b,t,s], unmasked
    chosen: Tensor  # bool [b,t,s], True where the query attends to the key


def index_queries(
    w: IndexerWeights, h: Tensor, c_Q: Tensor | None, turn: Turn | None
) -> IndexQueries:
    """Make q_I [b,t,j,x] of the query latent [b,t,l], or of h [b,t,d], and w_I [b,t,j] of h."""
    source = h if c_Q is None else c_Q
    q_I_pre = product("btl,jxl->btjx", source, w.W_IQ)
    q_I = first_rotated(w.config, q_I_pre, turn)
    w_I = product("btd,jd->btj", h, w.W_IW) * w.config.n_index_heads**-0.5
    return IndexQueries(q_I_pre, q_I, w_I)


def index_keys(w: IndexerWeights, h: Tensor, turn: Turn | None) -> IndexKeys:
    """Make k_I [b,s,x] of h [b,s,d], one for all index heads."""
    k_I_pre = product("bsd,xd->bsx", h, w.W_IK)
    k_I_normed = layer_norm(k_I_pre, w.k_I_norm, w.b_IK, EPS)
    k_I = first_rotated(w.config, k_I_normed, turn)
    return IndexKeys(k_I_pre, k_I_normed, k_I)


def first_rotated(config: IndexedConfig, x: Tensor, turn: Turn | None) -> Tensor:
    """Return the first d_rope of each vector turned, the rest as it is."""
    if turn is None:
        return x
    first, rest = x.tensor_split((config.d_rope,), dim=-1)
    return torch.cat((rotate(first, *turn, config.index_pairing), rest), dim=-1)


def indexed(w: IndexerWeights, queries: IndexQueries, keys: IndexKeys, mask: Tensor) -> Index:
    """Return the index scores, and the keys that they choose."""
    scores_I, index = scored(w, queries, keys.k_I)
    chosen = choice(index, mask, w.config.index_topk)
    parts = queries._asdict() | keys._asdict()
    return Index(**parts, scores_I=scores_I, index=index, chosen=chosen)


def scored(w: IndexerWeights, queries: IndexQueries, k_I: Tensor) -> tuple[Tensor, Tensor]:
    """Return the score of each key by each index head [b,j,t,s], and their weighted sum [b,t,s].

    In max(float32, dtype).
    """
    wide = torch.promote_types(queries.q_I.dtype, torch.float32)
    q_I, k_I, w_I = (x.to(wide) for x in (queries.q_I, k_I, queries.w_I))
    scores_I = einsum("btjx,bsx->bjts", q_I, k_I).mul_(w.config.d_index**-0.5).relu_()
    return scores_I, einsum("btj,bjts->bts", w_I, scores_I)


def choice(index: Tensor, mask: Tensor, topk: int) -> Tensor:
    """Return the `topk` keys of the highest index that each query sees, of equal ones the earliest.

    Where no index head finds a key the index is exactly 0: equal ones are common.

    Args:
        index: [b,t,s].
        mask: bool [t,s], True where the query sees the key.
        topk: how many; a query that sees no more chooses all.

    Returns:
        bool [b,t,s].
    """
    return highest(index.masked_fill(~mask, -torch.inf), topk) & mask


class IndexedProjections(MultiHeadLatentAttention):
    """MLA's parameters, and the indexer's, which no attention head owns.

    Parameters: W_IQ [j,x,l], W_IK [x,d], W_IW [j,d], and of the LayerNorm k_I_norm [x], b_IK [x].
    Without query compression W_IQ is [j,x,d]. A shared layer has none of them: they are None.
    """

    config_type, index_type = IndexedConfig, Index

    def _build(self, weights: Weights) -> None:
        super()._build(weights)
        c, shared = self.config, weights.shared
        self.W_IQ = self.W_IK = self.W_IW = self.k_I_norm = self.b_IK = None
        if c.index_shared:
            return
        d_query = c.d_latent_q or c.d_model
        self.W_IQ = shared("W_IQ", c.n_index_heads, c.d_index, d_query, fan_in=d_query)
        self.W_IK = shared("W_IK", c.d_index, c.d_model, fan_in=c.d_model)
        self.W_IW = shared("W_IW", c.n_index_heads, c.d_model, fan_in=c.d_model)
        self.k_I_norm = weights.ones(c.d_index)
        self.b_IK = shared("b_IK", c.d_index, fan_in=c.d_model)

    def indexer(self) -> IndexerWeights:
        """Return the indexer's weights."""
        return IndexerWeights(*(getattr(self, name) for name in IndexerWeights._fields))

    def keys_of(self, h: Tensor, turn: Turn | None) -> tuple[Latents, IndexKeys | None]:
        """Return what a cache keeps of h [b,s,d]: latents, index keys where the layer chooses."""
        keys = None if self.config.index_shared else index_keys(self.indexer(), h, turn)
        return latents_of(self.weights(), h, turn), keys

    def keys_after(
        self, h: Tensor, turn: Turn | None, cache: IndexedCache
    ) -> tuple[Latents, IndexKeys | None, IndexedCache]:
        """Return latents and index keys of a cache and of h [b,s,d] after it; the longer cache."""
        latents, keys = self.keys_of(h, turn)
        cache = cache.append(latents.c_KV, latents.k_R, keys and keys.k_I)
        latents = latents._replace(c_KV=cache.c_KV, k_R=cache.k_R)
        return latents, keys and keys._replace(k_I=cache.k_I), cache

    def known_keys(self, k_I: Tensor | None) -> IndexKeys:
        """Return index keys [b,s,x] that were made before."""
        return IndexKeys(None, None, k_I)

    def choose(
        self, h: Tensor, c_Q: Tensor | None, keys: IndexKeys, turn: Turn | None, mask: Tensor
    ) -> Index:
        """Choose keys for h [b,t,d] and its query latents [b,t,l]."""
        w = self.indexer()
        return indexed(w, index_queries(w, h, c_Q, turn), keys, mask)
