"""A real model with a smaller cache, and what it still says: the file of `make measure-real`.

A row is one model: its way to a cache of so many numbers per token and layer, what it was fitted
to, its mean loss on each piece of two kinds of text, and what it writes after a prompt. Perplexity
is exp of the mean loss; of both kinds together it is their geometric mean. The pieces are a random
sample of each text, the same for every row: spreads are two standard errors over them, and two
rows are told apart by the differences piece by piece.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, sqrt
from pathlib import Path
from statistics import fmean, variance
from typing import Any

from kvcount.refusals import RefusedError

__all__ = ["OneCache", "Row", "Spread"]

SURE = 2  # standard errors
LEAST_PIECES = 2  # of which a spread can be told


@dataclass(frozen=True)
class Spread:
    """A mean, and two standard errors below and above it."""

    mean: float
    least: float
    most: float


@dataclass(frozen=True)
class Row:
    """One measured model.

    Attributes:
        way: "whole", "latent", "weights", "averaged" or "absorbable" (training/real/plan.py).
        cached: numbers per token and layer.
        fitted_to: kinds of text, none where the weights alone decide.
        weighing: of the words that it was fitted to.
        loss: kind of text -> the mean loss of each piece.
        written: what it writes after the prompt, the likeliest token each time.
    """

    way: str
    cached: int
    fitted_to: tuple[str, ...]
    weighing: str
    loss: Mapping[str, Sequence[float]]
    written: str

    def perplexity(self, kinds: Sequence[str]) -> Spread:
        """Return the perplexity on these kinds of text, each counting as much."""
        mean, error = _mean([self.loss[kind] for kind in kinds])
        return Spread(exp(mean), exp(mean - SURE * error), exp(mean + SURE * error))

    def times(self, other: "Row", kinds: Sequence[str]) -> Spread:
        """Return how many times another's perplexity this one's is, piece by piece."""
        pairs = [zip(self.loss[kind], other.loss[kind], strict=False) for kind in kinds]
        mean, error = _mean([[one - two for one, two in both] for both in pairs])
        return Spread(exp(mean), exp(mean - SURE * error), exp(mean + SURE * error))


def _mean(samples: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the mean of the means of independent samples, and its standard error."""
    means = fmean(fmean(sample) for sample in samples)
    errors = [variance(sample) / len(sample) for sample in samples]
    return means, sqrt(sum(errors)) / len(samples)


@dataclass(frozen=True)
class OneCache:
    """All rows, and what they were measured on."""

    rows: tuple[Row, ...]
    about: Mapping[str, Any]

    @classmethod
    def read(cls, file: str | Path) -> "OneCache":
        """Return what was measured so far.

        Raises:
            RefusedError: nothing was measured yet, or the file is damaged.
        """
        file = Path(file)
        if not file.exists():
            raise RefusedError("one_cache_none")
        try:
            said = json.loads(file.read_text("utf-8"))
            every = [
                Row(**one | {"fitted_to": tuple(one["fitted_to"])})
                for one in said["points"].values()
            ]
            rows = [row for row in every if min(map(len, row.loss.values())) >= LEAST_PIECES]
            about = {name: value for name, value in said.items() if name != "points"}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RefusedError("one_cache_damaged", file=file.name) from error
        if not rows:
            raise RefusedError("one_cache_none")
        return cls(tuple(rows), about)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of text."""
        return tuple(self.rows[0].loss)

    @cached_property
    def weighing(self) -> str:
        """The weighing of the words that all fits but those that try others have."""
        return next((row.weighing for row in self.rows if row.fitted_to), "")

    @property
    def sizes(self) -> list[int]:
        """Numbers a token and layer at which some way was measured, rising."""
        return sorted({row.cached for row in self.rows})

    @property
    def pieces(self) -> int:
        """The pieces of each kind of text at which every row was measured."""
        return min(len(loss) for row in self.rows for loss in row.loss.values())

    def row(self, way: str, cached: int, fitted_to: Sequence[str] | None = None) -> Row | None:
        """Return the row of a way at a size, by default fitted to all kinds where it is fitted."""
        wanted = [
            row
            for row in self.rows
            if (row.way, row.cached) == (way, cached)
            and row.weighing in ("", self.weighing)
            and row.fitted_to in ((tuple(fitted_to),) if fitted_to else ((), self.kinds))
        ]
        return wanted[0] if wanted else None

    def line(self, way: str) -> dict[int, Row]:
        """Return the rows of a way by their size, rising."""
        found = {size: self.row(way, size) for size in self.sizes}
        return {size: row for size, row in found.items() if row}
