"""The files of the study as training writes them: a row a run, and the plan of what is to be run.

A file that is damaged is refused by its name, with the part that is wrong.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from kvcount.refusals import RefusedError
from mla_engine.language_model.texts import TASKS

__all__ = ["Bin", "Plan", "Planned", "Point", "Row", "read_plan", "read_row"]


@dataclass(frozen=True)
class Planned:
    """A variant as it is planned: numbers that it caches a token and layer, and how many seeds."""

    cached: int
    seeds: int


@dataclass(frozen=True)
class Plan:
    """The planned runs of the study.

    Attributes:
        variants: code -> what is planned of it.
        caches: the variants that differ in what is cached, the largest first.
        staircase: the variants from MHA to MLA, of which each changes one thing.
    """

    variants: Mapping[str, Planned]
    caches: tuple[str, ...]
    staircase: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """A measurement during training; there is no loss before the first step."""

    step: int
    loss: float | None


@dataclass(frozen=True)
class Bin:
    """Recalls whose pair stood so many words back or a few more: how many, and the share right."""

    first: int
    answers: int
    share: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """The results of one run; `accuracy` is task -> load -> the share of right answers.

    `attempts` counts the beginnings: those that did not find recall were given up.
    """

    variant: str
    seed: int
    cached: int
    parameters: int
    steps: int
    attempts: int
    finished: bool
    texts: int
    threads: int
    seconds: float
    command: str
    torch: str
    python: str
    date: str
    accuracy: Mapping[str, Mapping[int, float]]
    curve: tuple[Point, ...]
    by_distance: tuple[Bin, ...]

    def share(self, task: str | None = None, load: int | None = None) -> float:
        """Return the share of right answers, the mean over loads or tasks that are not given.

        Of all tasks a load is its place among those of each, 1 the lightest.
        """
        if task is None:
            return fmean(
                self.share(one.name, load and one.loads[load - 1]) for one in TASKS.values()
            )
        found = self.accuracy[task]
        return fmean(found.values()) if load is None else found[load]


def read_plan(file: Path) -> Plan:
    """Return the plan as `make train` writes it.

    Raises:
        RefusedError: no such file, or a damaged one.
    """
    if not file.exists():
        raise RefusedError("no_study", folder=file.parent.name)
    part = _Parts(file)
    variants = {
        code: Planned(part.whole(of, "cached"), part.whole(of, "seeds"))
        for code, of in part.table(part.all, "variants").items()
    }
    named = {name: tuple(part.list(part.all, name)) for name in ("caches", "staircase")}
    for name, codes in named.items():
        part.check(codes and all(code in variants for code in codes), name)
    return Plan(variants, **named)


def read_row(file: Path, plan: Plan) -> Row:
    """Return the row of one run.

    Raises:
        RefusedError: it is damaged, or of a run that is not planned.
    """
    part = _Parts(file)
    wholes = ("seed", "cached", "parameters", "steps", "attempts", "texts", "threads")
    found = {name: part.whole(part.all, name) for name in wholes}
    words = ("variant", "command", "torch", "python", "date")
    found |= {name: part.of(str, part.all, name) for name in words}
    code = found["variant"]
    part.check(code in plan.variants and file.stem == f"{code}-{found['seed']}", "variant")
    part.check(found["cached"] == plan.variants[code].cached, "cached")
    return Row(
        **found,
        finished=part.of(bool, part.all, "finished"),
        seconds=part.number(part.all, "seconds"),
        accuracy=_accuracy(part),
        curve=_curve(part),
        by_distance=_by_distance(part),
    )


def _accuracy(part: "_Parts") -> dict[str, dict[int, float]]:
    given = part.table(part.all, "accuracy")
    return {
        task.name: {
            load: part.share(part.table(given, task.name), str(load)) for load in task.loads
        }
        for task in TASKS.values()
    }


def _curve(part: "_Parts") -> tuple[Point, ...]:
    points = []
    for one in part.list(part.all, "curve"):
        part.check(isinstance(one, dict) and "loss" in one, "curve")
        loss = None if one["loss"] is None else part.number(one, "loss")
        points.append(Point(part.whole(one, "step"), loss))
    steps = [point.step for point in points]
    part.check(steps and steps == sorted(set(steps)), "curve")
    return tuple(points)


def _by_distance(part: "_Parts") -> tuple[Bin, ...]:
    bins = []
    for one in part.list(part.all, "by_distance"):
        part.check(isinstance(one, list) and len(one) == 3, "by_distance")
        named = dict(zip(("first", "answers", "by_distance"), one, strict=True))
        first, answers = part.whole(named, "first"), part.whole(named, "answers")
        bins.append(Bin(first, answers, part.share(named, "by_distance")))
    return tuple(bins)


class _Parts:
    """The parts of a file, each as what it must be, or the file is refused by its name."""

    def __init__(self, file: Path) -> None:
        self.name, self.all = file.name, {}
        try:
            self.all = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise RefusedError("study_file", name=self.name, part="JSON") from error
        self.check(isinstance(self.all, dict), "JSON")

    def check(self, good: object, name: str) -> None:
        if not good:
            raise RefusedError("study_file", name=self.name, part=name)

    def of(self, kind: type, parts: Mapping[str, Any], name: str) -> Any:
        self.check(isinstance(parts, dict) and isinstance(parts.get(name), kind), name)
        return parts[name]

    def table(self, parts: Mapping[str, Any], name: str) -> dict[str, Any]:
        return self.of(dict, parts, name)

    def list(self, parts: Mapping[str, Any], name: str) -> Any:
        return self.of(list, parts, name)

    def whole(self, parts: Mapping[str, Any], name: str) -> int:
        found = self.of(int, parts, name)
        self.check(not isinstance(found, bool) and found >= 0, name)
        return found

    def number(self, parts: Mapping[str, Any], name: str) -> float:
        found = self.of((int, float), parts, name)
        good = not isinstance(found, bool) and math.isfinite(found) and found >= 0
        self.check(good, name)
        return float(found)

    def share(self, parts: Mapping[str, Any], name: str) -> float:
        found = self.number(parts, name)
        self.check(found <= 1, name)
        return found
