"""The size of a run: `make test` tries a fixed part of many cases, `make test-all` every one.

Hypothesis draws the same examples each time in `make test` and new ones in `make test-all`.
"""

import os
import random
from collections.abc import Callable, Hashable, Iterable
from itertools import combinations
from typing import TypeVar

from hypothesis import settings

Case = TypeVar("Case")
ALL = os.environ.get("MLA_TESTS") == "all"

settings.register_profile("hypothesis", derandomize=not ALL, deadline=None, print_blob=True)
settings.load_profile("hypothesis")


def some(cases: Iterable[Case], count: int, seed: int = 0) -> list[Case]:
    """`count` of the cases in their order, drawn with a fixed seed; all of them in test-all."""
    listed = list(cases)
    if ALL or len(listed) <= count:
        return listed
    drawn = random.Random(seed).sample(range(len(listed)), count)
    return [listed[place] for place in sorted(drawn)]


def covering(
    cases: Iterable[Case], count: int, values: Callable[[Case], Iterable[Hashable]]
) -> list[Case]:
    """`count` of the cases in their order, all of them in test-all.

    Chosen so that every value occurs, as far as there is room, and then many pairs of values.
    """
    listed = list(cases)
    if ALL or len(listed) <= count:
        return listed
    alone = [set(values(case)) for case in listed]
    pairs = [set(map(frozenset, combinations(held, 2))) for held in alone]
    chosen: list[int] = []
    for _ in range(count):
        known, met = (set().union(*(of[p] for p in chosen)) for of in (alone, pairs))
        left = [place for place in range(len(listed)) if place not in chosen]
        new = {p: (len(alone[p] - known), len(pairs[p] - met)) for p in left}
        chosen.append(max(left, key=new.get))
    return [listed[place] for place in sorted(chosen)]


def many(here: int, in_all: int) -> int:
    """A number of seeds or examples: this many in `make test`, more in test-all."""
    return in_all if ALL else here
