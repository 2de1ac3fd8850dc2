"""Who is in, who waits in line, and whose seat is kept while he comes or comes back.

A visitor is known by a token that the browser keeps; one without any is let in where nobody waits,
and takes a seat for each connection.
"""

import time
from collections import Counter
from collections.abc import Callable

NOBODY = ""  # whoever has no token
COMING_SECONDS = 30.0  # from being let in until the page has connected
AWAY_SECONDS = 20.0  # from a lost connection until the seat is somebody else's
TABS = 4  # of a browser, that share its seat
LONGEST_LINE = 1000  # whose places are kept: of more the last is told
PATIENT_SECONDS = 15.0  # from a question for the place until who asked is taken to have left


class Seats:
    """As many as `most` says at the time."""

    def __init__(
        self, most: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._clock = most, clock
        self._connections: Counter[str] = Counter()
        self._kept: dict[str, float] = {}  # until when, of those who have no connection now
        self._line: dict[str, float] = {}  # until when, in the order of arrival

    @property
    def taken(self) -> int:
        """How many are taken, those that are kept among them."""
        nobodys = self._connections[NOBODY]
        return len(self._connections) - bool(nobodys) + nobodys + len(self._kept)

    @property
    def waiting(self) -> int:
        """How many stand in line."""
        return len(self._line)

    def ask(self, visitor: str) -> int:
        """The place in line, from 1; 0 for who is in: the seat is kept until he connects."""
        self._tidy()
        if visitor in self._connections:
            return 0
        if visitor in self._kept or self._is_next(visitor):
            self._line.pop(visitor, None)
            self._kept[visitor] = self._clock() + COMING_SECONDS
            return 0
        if visitor not in self._line and self.waiting >= LONGEST_LINE:
            return self.waiting + 1
        self._line[visitor] = self._clock() + PATIENT_SECONDS
        return list(self._line).index(visitor) + 1

    def connect(self, visitor: str) -> bool:
        """Take a seat for a connection; whether there was one."""
        self._tidy()
        tabs = 0 if visitor == NOBODY else self._connections[visitor]
        its_own = self._kept.pop(visitor, None) is not None or 0 < tabs < TABS
        if not its_own and self.taken + self.waiting >= self._most():
            return False
        self._connections[visitor] += 1
        return True

    def leave(self, visitor: str) -> None:
        """A connection has ended; who is known may come back."""
        self._connections -= Counter({visitor: 1})  # what is 0 goes
        if visitor != NOBODY and visitor not in self._connections:
            self._kept[visitor] = self._clock() + AWAY_SECONDS

    def _is_next(self, visitor: str) -> bool:
        line = list(self._line)
        ahead = line.index(visitor) if visitor in self._line else len(line)
        return self.taken + ahead < self._most()

    def _tidy(self) -> None:
        now = self._clock()
        self._kept = {who: end for who, end in self._kept.items() if end > now}
        self._line = {who: end for who, end in self._line.items() if end > now}
