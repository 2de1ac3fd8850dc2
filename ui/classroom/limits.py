"""Bounds what one address may take of what all share: joins, seats, and classes.

A lecture hall stands behind one address, and a stranger may too. So an address has a bucket that
is large enough for a hall that arrives at once, and half of the places at most: 1,000 students are
in within a minute, and whoever takes all that one may have leaves the other half to the others. Of
an address a mark is kept (`codes.mark`), which tells nobody the address. An address of IPv6 stands
for its whole network, as a single line has 2**64 of them.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from math import ceil

OWN = "here"  # whoever asks from the machine itself
MOST_ADDRESSES = 10_000  # that are remembered, each until its bucket is full again
LINE = 64  # bits of an IPv6 address that name a line


@dataclass(frozen=True)
class Rate:
    """The size of a bucket, and what flows into it."""

    at_once: float
    a_second: float


JOINS = Rate(400, 10)  # of one class
OPENINGS = Rate(10, 1 / 60)  # an institute's lecturers begin at the same hour


def part(most: int) -> int:
    """Return how many of all places one address may have."""
    return ceil(most / 2)


def network(address: str | None) -> str:
    """Return whose bucket it is; Streamlit names no address of the machine itself."""
    try:
        number = ip_address(address or "::1")
    except ValueError:
        return str(address)
    number = getattr(number, "ipv4_mapped", None) or number
    if number.is_loopback:
        return OWN
    line = ip_network((number, LINE), strict=False) if number.version == 6 else number
    return str(line)


class Buckets:
    """A bucket for each address, in this process."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()  # and when

    def allows(self, address: str) -> bool:
        """Tell whether something is left."""
        return self._gone(address) + 1 <= self._rate.at_once

    def spend(self, address: str) -> None:
        """Take one out, whatever is left."""
        now = self._clock()
        self._spent[address] = self._gone(address) + 1, now
        self._spent.move_to_end(address)
        oldest, (spent, at) = next(iter(self._spent.items()))
        if now - at > spent / self._rate.a_second or len(self._spent) > MOST_ADDRESSES:
            del self._spent[oldest]

    def take(self, address: str) -> bool:
        """Take one out if something is left; tell whether it was."""
        if allowed := self.allows(address):
            self.spend(address)
        return allowed

    def _gone(self, address: str) -> float:
        """Return what is missing from a full bucket."""
        spent, at = self._spent.get(address, (0.0, 0.0))
        return max(0.0, spent - self._rate.a_second * (self._clock() - at))
