"""The shares of each head's logits that are content, and position.

The softmax ignores whatever a whole row of logits shares. So each query's mean over the keys it
sees is taken away first, from scores_C and from scores_R; what is left is C and R, and

    var(C + R) = var(C) + var(R) + 2 cov(C, R)

over all visible entries. Divided by the left side the three terms are shares that sum to 1. They
tell heads that look at words from heads that look at places. Where the two parts work against each
other the covariance is negative, and a share may be above 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine.latent import AbsorbedTrace, LatentTrace

__all__ = ["LogitShares", "Row", "logit_shares", "table"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitShares:
    """Variances of the logits' two parts and what they share, one number a head, float64 [h]."""

    variance_content: Tensor
    variance_position: Tensor
    covariance: Tensor

    @property
    def variance(self) -> Tensor:
        """The variance of the logits: var(C) + var(R) + 2 cov(C, R) [h]."""
        return self.variance_content + self.variance_position + 2 * self.covariance

    @property
    def content(self) -> Tensor:
        """var(C) / var(C + R) [h]; NaN where a head's logits do not vary at all."""
        return self.variance_content / self.variance

    @property
    def position(self) -> Tensor:
        """var(R) / var(C + R) [h]."""
        return self.variance_position / self.variance

    @property
    def balance(self) -> Tensor:
        """var(R) / (var(C) + var(R)) in [0, 1] [h]: above 1/2 a head looks at places first."""
        return self.variance_position / (self.variance_content + self.variance_position)

    @property
    def shared(self) -> Tensor:
        """2 cov(C, R) / var(C + R) [h]: above 0 where the two parts agree."""
        return 2 * self.covariance / self.variance


def logit_shares(trace: LatentTrace | AbsorbedTrace) -> LogitShares:
    """Split the variance of each head's visible logits into content, position and covariance.

    All batch rows and queries count together; without rotary dimensions all of it is content.

    Raises:
        ValueError: a trace of another kind, or one whose queries see no second key.
    """
    checks.kind("trace", trace, (LatentTrace, AbsorbedTrace))
    if int(trace.mask.sum(-1).max()) < 2:
        raise RefusedError("no_logits")
    heads = [_of_head(trace, head) for head in range(trace.scores_C.shape[1])]
    content, position, covariance = torch.tensor(heads, dtype=torch.float64).unbind(-1)
    return LogitShares(variance_content=content, variance_position=position, covariance=covariance)


def _of_head(trace: LatentTrace | AbsorbedTrace, head: int) -> tuple[float, float, float]:
    """Return var(C), var(R) and cov(C, R); one head at a time keeps the float64 copies small."""
    content = _centred(trace.scores_C[:, head], trace.mask)
    position = torch.zeros_like(content)
    if trace.scores_R is not None:
        position = _centred(trace.scores_R[:, head], trace.mask)
    visible = int(trace.mask.sum()) * len(content)
    products = content * content, position * position, content * position
    return tuple(float(product.sum()) / visible for product in products)


def _centred(scores: Tensor, mask: Tensor) -> Tensor:
    """Return logits [b,t,s] less their row's mean over visible keys, 0 where hidden, float64."""
    visible = scores.double().masked_fill(~mask, 0)
    mean = visible.sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)
    return (visible - mean).masked_fill(~mask, 0)


class Row(NamedTuple):
    """One head of one layer."""

    layer: int
    head: int
    content: float
    position: float
    shared: float


def table(layers: Mapping[int, LogitShares]) -> list[Row]:
    """Return a row for each layer and head, in this order; heads count from 0 in each layer."""
    return [
        Row(layer, head, *map(float, values))
        for layer, shares in layers.items()
        for head, values in enumerate(
            zip(shares.content, shares.position, shares.shared, strict=True)
        )
    ]
