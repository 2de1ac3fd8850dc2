"""The size of a run: `make test` tries a fixed part of many cases, `make test-all` every one.

Hypothesis draws the same examples each time in `make test` and new ones in `make test-all`.
"""

import os
import random
from collections.abc import Iterable
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


def many(here: int, in_all: int) -> int:
    """A number of seeds or examples: this many in `make test`, more in test-all."""
    return in_all if ALL else here
