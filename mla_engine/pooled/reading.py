"""What a query reads, as one map: keys of its window, pooled entries, the sink; and what is pooled.

A row of the map is one softmax over all of these, so that it adds up to 1.
"""

import torch
from torch import Tensor

from mla_engine.pooled.layer import PooledAttention
from mla_engine.pooled.trace import PooledTrace


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


def pooled_from(trace: PooledTrace) -> Tensor:
    """How much of each entry is of which token [b,i,s]: its gate, the mean over the channels.

    Each row adds up to 1, and is 0 at a token that the entry does not pool.

    Args:
        trace: of a whole text.
    """
    gates, members = trace.gates.mean(-1), trace.members.clamp(min=0)  # the gate of no token is 0
    of_tokens = gates.new_zeros(*gates.shape[:2], trace.kv_T.shape[1])
    return of_tokens.scatter_add_(2, members.expand_as(gates), gates)
