"""The seam: who does the heavy work of pages. `kept.engine` has the one that the server is set to.

`InProcess` is the default; `on_ray.OnRay` hands the work to a cluster of Ray.
"""

from collections.abc import Hashable
from functools import partial
from typing import Protocol, TypeVar

R = TypeVar("R")


class Engine(Protocol):
    """Does work for the pages of all sessions."""

    def result(self, key: Hashable, work: "partial[R]") -> R:
        """What the work gives: done once for all who ask for its key at once, and kept.

        It waits its turn, fair between visitors, and is ended with the visitor who left. What is
        kept has a budget in bytes.

        Args:
            key: of what is kept.
            work: a function of the project with its arguments, which takes its own turn.

        Raises:
            RefusedError: as the work.
            FullError: too much waits, or what worked on it has gone: it may be asked for again.
        """


class Keeper(Protocol):
    """Where results are kept: `kept.Shelf`."""

    def get(self, key: Hashable, make: "partial[R]") -> R:
        """The value of a key, made where there is none: by one caller, for whom others wait."""


class InProcess:
    """Each does his own work, in the thread of his page and in his turn of `queue`."""

    def __init__(self, shelf: Keeper) -> None:
        self.result = shelf.get
