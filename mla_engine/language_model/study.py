"""The answers that smaller caches cost: the rows of many runs, summed up over their seeds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvcount.refusals import RefusedError
from mla_engine.language_model.study_rows import Plan, Row, read_plan, read_row

__all__ = ["LEAST_SEEDS", "Spread", "Study", "differ", "read"]

LEAST_SEEDS = 3
"""Needed for each of two variants before a difference between them is called one."""


@dataclass(frozen=True)
class Spread:
    """A number over the seeds of a variant: its mean, its least and its most."""

    mean: float
    least: float
    most: float
    seeds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread | None":
        """Return the spread of these numbers; None of none."""
        found = list(values)
        if not found:
            return None
        return cls(sum(found) / len(found), min(found), max(found), len(found))


def differ(one: Spread | None, other: Spread | None) -> bool:
    """Return True if every seed of one lies above every seed of the other, with enough of both."""
    if not one or not other or min(one.seeds, other.seeds) < LEAST_SEEDS:
        return False
    return one.least > other.most or other.least > one.most


@dataclass(frozen=True)
class Study:
    """The plan, the rows that there are, and why the files that are damaged were left out."""

    plan: Plan
    rows: tuple[Row, ...] = ()
    refused: tuple[RefusedError, ...] = ()

    def of(self, variant: str) -> list[Row]:
        """Return the runs of a variant, by seed."""
        return sorted((row for row in self.rows if row.variant == variant), key=lambda r: r.seed)

    def measured(self, variants: Iterable[str]) -> list[str]:
        """Return those of these variants that have a row."""
        return [code for code in variants if self.of(code)]

    def shares(self, variant: str, task: str | None = None, load: int | None = None) -> list[float]:
        """Return the right answers of each seed, over tasks or loads that are not given."""
        return [row.share(task, load) for row in self.of(variant)]

    def accuracy(
        self, variant: str, task: str | None = None, load: int | None = None
    ) -> Spread | None:
        """Return the share of right answers over the seeds; None where nothing was run."""
        return Spread.of(self.shares(variant, task, load))

    def by_distance(self, variant: str) -> dict[int, Spread]:
        """Return the first distance of a bin -> recall of pairs that stood so far back."""
        found: dict[int, list[float]] = {}
        for row in self.of(variant):
            for one in row.by_distance:
                found.setdefault(one.first, []).append(one.share)
        return {first: Spread.of(found[first]) for first in sorted(found)}

    def losses(self, variant: str) -> dict[int, dict[int, float]]:
        """Return seed -> step -> the loss during training."""
        return {
            row.seed: {point.step: point.loss for point in row.curve if point.loss is not None}
            for row in self.of(variant)
        }

    def loss(self, variant: str) -> dict[int, Spread]:
        """Return the loss over the seeds, at the steps that all of them took."""
        curves = list(self.losses(variant).values())
        steps = sorted(set.intersection(*map(set, curves))) if curves else ()
        return {step: Spread.of(curve[step] for curve in curves) for step in steps}

    def not_run(self) -> dict[str, tuple[int, ...]]:
        """Return variant -> the planned seeds that have no row."""
        missing = {}
        for code, planned in self.plan.variants.items():
            done = {row.seed for row in self.of(code)}
            left = tuple(seed for seed in range(planned.seeds) if seed not in done)
            missing |= {code: left} if left else {}
        return missing


def read(folder: Path) -> Study:
    """Return the study of a folder of `make train`; a damaged row is left out, and why is told.

    Raises:
        RefusedError: there is no plan, or a damaged one.
    """
    plan = read_plan(folder / "plan.json")
    rows, refused = [], []
    for file in files(folder):
        try:
            rows.append(read_row(file, plan))
        except RefusedError as error:
            refused.append(error.with_traceback(None))
    return Study(plan, tuple(rows), tuple(refused))


def files(folder: Path) -> Sequence[Path]:
    """Return the files of the rows."""
    return sorted((folder / "study").glob("*.json"))
