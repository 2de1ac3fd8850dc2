"""How many pages are run at a time: the others wait in the order in which they came.

Threads share one interpreter: of hundreds that run at once each gets a hundredth, all end late, and
the thread that sends what they have drawn waits for all of them. A few at a time end sooner.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from ui.engine import asker

MOST = 2  # one draws while another waits for its numbers
POLL_SECONDS = 0.5  # between two looks at the place
LIMIT_SECONDS = 0.5  # after which a run no longer counts: it waits for something else


class Gate:
    """Lets in a few at a time."""

    def __init__(
        self, most: int, limit_seconds: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._most, self._limit, self._clock = most, limit_seconds, clock
        self._waiting: deque[threading.Event] = deque()
        self._inside: dict[threading.Event, float] = {}  # since when
        self._mine = threading.local()
        self._lock = threading.Lock()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Wait to be let in, and stay for the block; who is inside already does not wait."""
        if getattr(self._mine, "place", None) is not None:
            yield
            return
        self._enter(self._waiting.append)
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Outside for the block, where this thread is inside; back before all who wait."""
        if getattr(self._mine, "place", None) is None:
            yield
            return
        self._leave()
        try:
            yield
        finally:
            self._enter(self._waiting.appendleft)

    def _enter(self, join: Callable[[threading.Event], None]) -> None:
        place = threading.Event()
        with self._lock:
            join(place)
            self._let_in()
        while not place.wait(min(self._limit, POLL_SECONDS)):
            with self._lock:
                self._let_in()
                ahead = self._waiting.index(place) if place in self._waiting else None
            if ahead is not None:
                asker.tell(ahead + 1)
        asker.tell(0)
        self._mine.place = place

    def _leave(self) -> None:
        place, self._mine.place = self._mine.place, None
        with self._lock:
            self._inside.pop(place, None)
            self._let_in()

    def _let_in(self) -> None:
        """As many as there is room for, who is overdue not counted."""
        now = self._clock()
        self._inside = {
            place: since for place, since in self._inside.items() if now - since < self._limit
        }
        while self._waiting and len(self._inside) < self._most:
            place = self._waiting.popleft()
            self._inside[place] = now
            place.set()


_gate = Gate(MOST, LIMIT_SECONDS)
inside, aside = _gate.inside, _gate.aside
