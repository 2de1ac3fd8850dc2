"""The indexer over entries (DeepSeek-V4, equations 13 to 17), in formulas over weights.

I[t,i] = sum over j of w_I[t,j] ReLU(q_I[t,j] . k_E[i]), scaled by d_index^-1/2 and, in w_I, by
n_index_heads^-1/2: the lightning indexer of DeepSeek-V3.2 with pooled index keys.
"""

from typing import NamedTuple

import torch
from torch import Tensor, einsum

from mla_engine.ops import highest, product
from mla_engine.pooled.projections import PooledProjections, last_rotated
from mla_engine.rope import Turn


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
    """From h [b,t,d], the query latent [b,t,l] and index keys [b,i,x] to the scores [b,t,i].

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
    """The `topk` visible entries of the highest index, of equal ones the earliest; bool [b,t,i].

    Args:
        index: [b,t,i].
        visible: bool [t,i].
        topk: how many; a query that sees no more chooses all.
    """
    if not index.shape[-1]:
        return visible.expand(index.shape)
    return highest(index.masked_fill(~visible, -torch.inf), topk) & visible
