"""How often an address may be wrong: codes cannot be tried in large numbers."""

import time
from collections import OrderedDict
from collections.abc import Callable

SAME = 1000  # wrong codes that are remembered: who asks again and again for one guesses none
MOST_ADDRESSES = 10_000  # that are remembered, each until it may be wrong as often as anew


class Limit:
    """So many mistakes at once, and so many a second; a campus shares one address."""

    def __init__(
        self, burst: float, per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst, self._rate, self._clock = burst, per_second, clock
        self._same: OrderedDict[str, None] = OrderedDict()
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()  # and when

    def allows(self, address: str) -> bool:
        """Whether this address may try."""
        return self._left(address) < self._burst

    def count(self, address: str, code: str) -> None:
        """It was wrong once more, unless by the same code: as after the end of a class."""
        if code in self._same:
            return
        self._same[code] = None
        if len(self._same) > SAME:
            self._same.popitem(last=False)
        self._spent[address] = self._left(address) + 1, self._clock()
        self._spent.move_to_end(address)
        oldest, (spent, at) = next(iter(self._spent.items()))
        if self._clock() - at > spent / self._rate or len(self._spent) > MOST_ADDRESSES:
            del self._spent[oldest]

    def _left(self, address: str) -> float:
        """The mistakes that still count."""
        spent, at = self._spent.get(address, (0.0, 0.0))
        return max(0.0, spent - self._rate * (self._clock() - at))
