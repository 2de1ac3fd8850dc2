"""Maps of what a query reads: keys of its window, pooled entries, the sink; and what is pooled.

A row of the map is one softmax over all of these, so that it adds up to 1.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from mla_engine.pooled.forms import PooledTrace
from mla_engine.pooled.layer import PooledAttention

__all__ = ["Given", "columns", "given", "pooled_from"]


def columns(layer: PooledAttention, trace: PooledTrace) -> tuple[Tensor, Tensor]:
    """Return the logits of keys, entries and sink, in this order [b,h,t,n]; what is seen [b,t,n].

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
    """Return each token's share of each entry [b,i,s]: its gate, the mean over the channels.

    Each row adds up to 1, and is 0 at a token that the entry does not pool.

    Args:
        gates: [b,i,p,k], of a whole text.
        members: int64 [i,p].
        tokens: of the text.
    """
    shares = gates.mean(-1)  # 0 where there is no token
    of_tokens = shares.new_zeros(*shares.shape[:2], tokens)
    return of_tokens.scatter_add_(2, members.clamp(min=0).expand_as(shares), shares)


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """Each head's attention to the words of its window, to entries and to the sink, float64 [h].

    Each the mean over the same queries; the three of a head add up to 1.
    """

    window: Tensor
    entries: Tensor
    sink: Tensor
    queries: int  # over which the mean goes


def given(trace: PooledTrace) -> Given:
    """Share out the attention of each head, over the queries that have an entry to read.

    Earlier ones have no choice but the window. Where no query has an entry, it is of all of them.
    """
    window, sink = trace.attention.double().sum(-1), trace.sink_mass.double()
    entries = torch.zeros_like(window)
    reads = torch.ones_like(window[:, 0], dtype=torch.bool)
    if trace.attention_E is not None and trace.chosen_E.any():
        entries, reads = trace.attention_E.double().sum(-1), trace.chosen_E.any(-1)
    queries = int(reads.sum())
    counted = reads.unsqueeze(1)  # of every head alike
    means = ((part * counted).sum((0, 2)).cpu() / queries for part in (window, entries, sink))
    return Given(**dict(zip(("window", "entries", "sink"), means, strict=True)), queries=queries)
