"""A line: a few work at a time, the others wait in the order in which they came.

Whoever waits is shown his place. He gives it up when he leaves or asks for something newer.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from ui.engine import job_owner


@dataclass(eq=False)
class Ticket:
    """A thread's place in a line.

    Args:
        visitor: whose work it does.
        let_in: set once its turn has come.
        began: when its turn did; None while it waits, and when it is out of the line.
        opened: whether it has ever had a turn, so that its work holds memory.
    """

    visitor: object
    let_in: threading.Event = field(default_factory=threading.Event)
    began: float | None = None
    opened: bool = False


class Line:
    """Gives turns to `at_once` threads at a time, to all others in the order of arrival.

    Args:
        limit_seconds: after which a turn no longer counts, so that nobody is stuck behind it.
        poll_seconds: within which a visitor who has left is noticed, and a new place is shown.
    """

    def __init__(
        self,
        at_once: int,
        limit_seconds: float,
        poll_seconds: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._at_once, self._limit, self._clock = at_once, limit_seconds, clock
        self._poll = min(poll_seconds, limit_seconds)
        self._line: list[Ticket] = []  # all who wait or work, in the order of arrival
        self._lock = threading.RLock()
        self._mine = threading.local()

    def __len__(self) -> int:
        return len(self._line)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn and hold it for the block; a turn within a turn is part of it."""
        if ticket := self._ticket():
            if ticket.began is None:  # overdue: it waits like all others
                self._come_back(ticket)
            yield
            return
        job_owner.stop_if_gone()
        self._mine.ticket = ticket = self._join()
        try:
            self._wait(ticket)
            yield
        finally:
            self._mine.ticket = None
            self._leave(ticket)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Give up this thread's turn for the block, if it has one, and be the next to go on."""
        if (ticket := self._ticket()) is None:
            yield
            return
        self._mine.ticket = None
        self._leave(ticket)
        try:
            yield
        finally:
            self._mine.ticket = ticket
            self._come_back(ticket)

    def _ticket(self) -> Ticket | None:
        """This thread's, while it holds a turn."""
        return getattr(self._mine, "ticket", None)

    def _join(self) -> Ticket:
        ticket = Ticket(job_owner.current())
        with self._lock:
            self._enter(ticket, len(self._line))
            self._let_in()
        return ticket

    def _wait(self, ticket: Ticket) -> None:
        while not ticket.let_in.wait(self._poll):
            job_owner.stop_if_gone()
            with self._lock:
                self._let_in()
                waiting = self._waiting()
            if ticket in waiting:
                job_owner.show_place(waiting.index(ticket) + 1)
        job_owner.show_place(0)

    def _come_back(self, ticket: Ticket) -> None:
        with self._lock:
            self._enter(ticket, 0)
            self._let_in()
        self._wait(ticket)

    def _leave(self, ticket: Ticket) -> None:
        with self._lock:
            self._remove(ticket)
            self._let_in()

    def _let_in(self) -> None:
        """Give turns to as many as may work, those who are overdue not counted."""
        now = self._clock()
        for ticket in list(self._line):
            if ticket.began is not None and now - ticket.began >= self._limit:
                self._drop(ticket)
        working = sum(ticket.began is not None for ticket in self._line)
        for ticket in self._waiting()[: max(self._at_once - working, 0)]:
            ticket.began, ticket.opened = now, True
            ticket.let_in.set()

    def _waiting(self) -> list[Ticket]:
        """Those who wait, in the order in which they would go now."""
        return [ticket for ticket in self._line if ticket.began is None]

    def _enter(self, ticket: Ticket, at: int) -> None:
        ticket.let_in = threading.Event()
        self._line.insert(at, ticket)

    def _remove(self, ticket: Ticket) -> None:
        if ticket in self._line:  # an overdue one is not
            self._line.remove(ticket)
        ticket.began = None

    def _drop(self, ticket: Ticket) -> None:
        """Remove one who is overdue."""
        self._remove(ticket)
