"""Hold a worker to memory and computing time, by the operating system.

Computing time is counted, not the clock, so that a busy machine changes nothing; the signal that
ends a worker comes also while a library keeps Python's lock. Windows knows neither limit.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from mla_engine import budget

try:
    import resource
except ImportError:  # Windows
    resource = None

GIB = 2**30
STATM = Path("/proc/self/statm")  # Linux
NICE = 5


@dataclass(frozen=True)
class Limits:
    """The limits of one job.

    Args:
        cpu_seconds: computing time.
        silent_seconds: without a sign of life, after which a worker is ended.
        memory_bytes: address space beyond that of a worker which has read nothing.
    """

    cpu_seconds: int
    silent_seconds: float
    memory_bytes: int


def of_looking() -> Limits:
    """Return the limits of what reads headers, or cuts a text."""
    return of_reading(cpu_seconds=20)


def of_reading(cpu_seconds: int = 120) -> Limits:
    """Return those of what reads weights, or runs layers: the budget counts what that makes."""
    return Limits(cpu_seconds, 180.0, 2 * budget.limit_bytes() + GIB)


class OwnLimits:
    """The limits of the process that this runs in; made when it has imported what it needs."""

    def __init__(self) -> None:
        self._space, self._resident = _memory()
        if resource:
            os.nice(NICE)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def begin(self, limits: Limits) -> None:
        """Hold the job that begins to its limits."""
        if not resource:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = int(used.ru_utime + used.ru_stime) + 1 + limits.cpu_seconds
        _lower(resource.RLIMIT_CPU, seconds)
        if self._space:
            _lower(resource.RLIMIT_AS, self._space + limits.memory_bytes)

    def has_grown(self, by_bytes: int) -> bool:
        """Return whether the process holds so much more than when it was new."""
        return _memory()[1] > self._resident + by_bytes


def _memory() -> tuple[int, int]:
    """Return address space and resident memory in bytes; 0 where they cannot be known."""
    if not STATM.exists():
        return 0, 0
    space, resident, *_ = map(int, STATM.read_text("ascii").split())
    page = os.sysconf("SC_PAGE_SIZE")
    return space * page, resident * page


def _lower(which: int, most: int) -> None:
    """Set the soft limit, which the next job may set again."""
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
