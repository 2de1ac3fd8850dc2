"""The lightning indexer over pooled keys (GLM-5.3-Flash): its weights and its formulas.

k_E[i] = sum over the tokens p of block i of softmax_p(W_IZ h_p + b_IZ) k_I[p], channel by channel,
k_I the index key of a token after its LayerNorm (transformers glm5_next, Glm5NextTextIndexer,
get_pooled_states). The indexer scores k_E as it scores keys in DeepSeek-V3.2.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from mla_engine.indexed.indexer import IndexerWeights, index_keys, index_queries, scored
from mla_engine.ops import product
from mla_engine.pooled.entries import choice
from mla_engine.pooled.pooling import Waiting, in_blocks, members


class PoolingWeights(NamedTuple):
    """The indexer's weights, and those of the gates."""

    indexer: IndexerWeights
    W_IZ: Tensor  # [a,x,d], of one series
    b_IZ: Tensor  # [a,m,x]


class IndexBlocks(NamedTuple):
    """The key side of the indexer in a trace; k_E are all, gates_I the new ones'."""

    k_I_pre: Tensor | None
    k_I: Tensor | None
    z_IE: Tensor | None
    gates_I: Tensor | None
    k_E: Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Index:
    """The indexer in a trace, i counting blocks; of a layer that shares its choice the choice."""

    q_I: Tensor | None = None  # [b,t,j,x]
    w_I: Tensor | None = None  # [b,t,j], scaled
    k_I_pre: Tensor | None = None  # [b,s,x]
    k_I: Tensor | None = None  # [b,s,x], of the new tokens
    z_IE: Tensor | None = None  # [b,s,a,x], of the new tokens
    members: Tensor | None = None  # int64 [i,p], the tokens of each block
    gates_I: Tensor | None = None  # [b,i,p,x], of the new blocks
    k_E: Tensor | None = None  # [b,i,x]
    scores_IE: Tensor | None = None  # [b,j,t,i], scaled, at least 0, unmasked
    index_E: Tensor | None = None  # [b,t,i], unmasked
    chosen_E: Tensor | None = None  # bool [b,t,i], True where the query chooses the block
    chosen: Tensor  # bool [b,t,s], True where the query attends to the key


def index_blocks(
    w: PoolingWeights, h: Tensor, waiting: Waiting, earlier: Tensor
) -> tuple[IndexBlocks, dict[str, Tensor]]:
    """Return the blocks after the tokens h [b,s,d] behind those that wait; what a cache keeps.

    `earlier` are the index keys of the blocks that were full before [b,i,x].
    """
    keys = index_keys(w.indexer, h, None)
    z_IE = product("bsd,axd->bsax", h, w.W_IZ)
    gates, new, waits = in_blocks(keys.k_I.unsqueeze(2), z_IE, w.b_IZ, waiting)
    k_E = torch.cat((earlier, new), dim=1)
    blocks = IndexBlocks(keys.k_I_pre, keys.k_I, z_IE, gates, k_E)
    return blocks, {"k_E": k_E, "k_I": waits.c, "z_IE": waits.z}


def indexed(
    w: PoolingWeights, h: Tensor, c_Q: Tensor | None, blocks: IndexBlocks, mask: Tensor
) -> Index:
    """Return the index scores of all blocks for h [b,t,d], and the tokens that they choose."""
    config, queries = w.indexer.config, index_queries(w.indexer, h, c_Q, None)
    scores_IE, index_E = scored(w.indexer, queries, blocks.k_E)
    chosen_E = choice(index_E, full_blocks(mask, config.pooling), config.chosen_blocks)
    stand_for = members(blocks.k_E.shape[1], config.pooling, 1, h.device)
    return Index(
        chosen=tokens_of(chosen_E, mask, config.pooling),
        q_I=queries.q_I,
        w_I=queries.w_I,
        **blocks._asdict(),
        members=stand_for,
        scores_IE=scores_IE,
        index_E=index_E,
        chosen_E=chosen_E,
    )


def full_blocks(mask: Tensor, pooling: int) -> Tensor:
    """Return True where a query sees the last token of a block; bool [t,i] of a mask [t,s]."""
    return mask[:, pooling - 1 :: pooling]


def tokens_of(chosen_E: Tensor, mask: Tensor, pooling: int) -> Tensor:
    """Return the tokens of chosen blocks, and those of a query's own while it is not full.

    Args:
        chosen_E: bool [b,t,i].
        mask: bool [t,s], True where the query sees the key.
        pooling: tokens of a block.

    Returns:
        bool [b,t,s].
    """
    tokens = mask.shape[-1]
    of_blocks = chosen_E.unsqueeze(-1).expand(-1, -1, -1, pooling).flatten(-2)
    of_blocks = pad(of_blocks, (0, tokens - of_blocks.shape[-1]))
    seen = mask.sum(-1, keepdim=True)
    own = torch.arange(tokens, device=mask.device) >= seen - seen % pooling
    return of_blocks | (own & mask)
