"""What a query reads, as one map: keys of its window, pooled entries, the sink; and what is pooled.

A row of the map is one softmax over all of these, so that it adds up to 1.
"""

import torch
from torch import Tensor

from mla_engine.pooled.layer import PooledAttention
from mla_engine.pooled.trace import PooledTrace

__all__ = ["columns", "pooled_from"]


def columns(layer: PooledAttention, trace: PooledTrace) -> tuple[Tensor, Tensor]:
    """Of keys, entries and the sink, in this order: logits [b,h,t,n], and what is seen [b,t,n].

    Args:
        layer: whose the trace is.
        trace: of all its heads.

    Returns:
        The logits, not masked, and bool, True where a query sees the key or chose the entry; of
        n = s + i + 1 columns the last is the sink, which every query sees.
    """
    rows = trace.scores_T.shape[:3]
    sink = layer.weights().sink[:, None, None].expand(*rows, 1)
    logits = [x for x in (trace.scores_T, trace.scores_E, sink) if x is not None]
    always = trace.mask.new_ones(rows[0], rows[2], 1)
    seen = [trace.mask.expand(rows[0], -1, -1), trace.chosen_E, always]
    return torch.cat(logits, -1), torch.cat([x for x in seen if x is not None], -1)


def pooled_from(gates: Tensor, members: Tensor, tokens: int) -> Tensor:
    """How much of each entry is of which token [b,i,s]: its gate, the mean over the channels.

    Each row adds up to 1, and is 0 at a token that the entry does not pool.

    Args:
        gates: [b,i,p,k], of a whole text.
        members: int64 [i,p].
        tokens: of the text.
    """
    shares = gates.mean(-1)  # 0 where there is no token
    of_tokens = shares.new_zeros(*shares.shape[:2], tokens)
    return of_tokens.scatter_add_(2, members.clamp(min=0).expand_as(shares), shares)
