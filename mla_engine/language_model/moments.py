"""The second moments of what enters each layer's attention as a model reads, a matrix a layer.

A fit by squares needs no text: the second moments [d,d] of what enters a layer, the weighted mean
of h h^T over the words, say all of it. They are added up text by text, so that little is held; a
square root of them, d rows with the same squares, stands wherever hidden states [n,d] are asked
for.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from kvcount import checks
from mla_engine.language_model.model import LanguageModel
from mla_engine.language_model.reading import by_turns
from mla_engine.trace import Trace

__all__ = ["WEIGHINGS", "mixed", "moments", "roots"]

WEIGHINGS = ("even", "read", "even_but_first", "read_but_first")
"""The weight of a word: 1, or the attention that it gets of all the layer's heads and words; both
also without the first word of a text, which most heads of a real model look at, and whose h is
unlike every other."""


@torch.no_grad()
def moments(
    model: LanguageModel, texts: Iterable[Tensor], weighings: Sequence[str] = WEIGHINGS
) -> dict[str, Tensor]:
    """Return the weighted mean of h h^T of each layer [layers,d,d], float64, by the weighing.

    Args:
        model: of any mechanism whose trace has a map.
        texts: int64 [b,t], t above 1; one is held at a time.
        weighings: of WEIGHINGS.

    Raises:
        ValueError: another weighing, no text, tokens that are none of the vocabulary.
    """
    for weighing in weighings:
        checks.choice("weighing", weighing, WEIGHINGS)
    c, n = model.config, len(model.blocks)
    sums = {weighing: torch.zeros(n, c.d_model, c.d_model).double() for weighing in weighings}
    totals = {weighing: torch.zeros(n).double() for weighing in weighings}
    for tokens in texts:
        for layer, block in enumerate(by_turns(model, tokens)):
            h = block.attention.h.double().flatten(0, 1)
            for weighing in weighings:
                weights = _weights(block.attention, weighing).flatten()
                sums[weighing][layer] += (weights * h.mT) @ h
                totals[weighing][layer] += weights.sum()
    return {weighing: total / totals[weighing][:, None, None] for weighing, total in sums.items()}


def _weights(trace: Trace, weighing: str) -> Tensor:
    """Return the weight of each word [b,t]."""
    read = weighing.startswith("read")
    weights = trace.attention.double().sum((1, 2)) if read else torch.ones(trace.h.shape[:2])
    if weighing.endswith("but_first"):
        weights[:, 0] = 0
    return weights.double()


def mixed(found: Sequence[Tensor]) -> Tensor:
    """Return the mean of the moments of several kinds of text, each kind counting as much."""
    return torch.stack(list(found)).mean(0)


def roots(moments_: Tensor) -> Tensor:
    """Return a square root R of each layer's moments M, R^T R = M [layers,d,d]."""
    values, vectors = torch.linalg.eigh(moments_)
    return values.clamp(min=0).sqrt().unsqueeze(-1) * vectors.mT
