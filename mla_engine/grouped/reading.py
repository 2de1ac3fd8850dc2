"""Each head's attention, shared out between the words and its sink."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.grouped.forms import GroupedTrace

__all__ = ["SinkShares", "sink_shares"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SinkShares:
    """Each head's attention to words and to its sink, float64 [h]; the two of a head add up to 1.

    Each is the mean over all queries.
    """

    words: Tensor
    sink: Tensor
    queries: int  # over which the mean goes


def sink_shares(trace: GroupedTrace) -> SinkShares:
    """Share out the attention of each head of a layer with sinks."""
    words, sink = trace.attention.double().sum(-1), trace.sink_mass.double()
    means = {"words": words.mean((0, 2)).cpu(), "sink": sink.mean((0, 2)).cpu()}
    return SinkShares(**means, queries=sink.shape[0] * sink.shape[2])
