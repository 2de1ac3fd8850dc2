"""Heavy work, one turn at a time and fair between visitors: nobody waits for all of another's.

A turn is worked off in pieces: once it has lasted one, it lets those go first who have had less.
"""

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic

import streamlit as st
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kvcount.refusals import RefusedError
from mla_engine import LatentConfig, MultiHeadLatentAttention
from ui.engine import device, job_owner
from ui.engine.line import Line, Ticket

MOST_WAITING = 64
MOST_OF_ONE = 4  # of these, of one visitor
MOST_OPEN = 2  # turns that are begun and not ended: for so many the budget of memory is made
PIECE_SECONDS = 0.2  # after which a turn lets others go first
LIMIT_SECONDS = 10.0  # after which the others no longer wait: one operation takes under 1
POLL_SECONDS = 0.1  # within which a visitor who has left is noticed

PAGES_AT_ONCE = 2  # one is drawn while another waits for its numbers
PAGE_LIMIT_SECONDS = 0.5  # after which a page no longer counts: it waits for something else
PAGE_POLL_SECONDS = 0.5  # of hundreds of pages that wait


class FullError(RefusedError):
    """Work that is not done now and may be asked for again: too much waits, or its engine ended."""


class _Pausing(TorchDispatchMode):
    """Calls `pause` before every operation of torch in the block."""

    def __init__(self, pause: Callable[[], None]) -> None:
        super().__init__()
        self._pause = pause

    def __torch_dispatch__(
        self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        self._pause()
        return func(*args, **(kwargs or {}))


class Queue(Line):
    """Gives one turn at a time, next to the visitor who has had the least time.

    Whoever comes is taken to have had what an even share would be, so that nobody can save up time,
    and nobody is overtaken for ever by those who come. Once nobody waits, all is forgotten.
    """

    def __init__(
        self,
        most_waiting: int,
        limit_seconds: float,
        *,
        most_of_one: int = MOST_OF_ONE,
        piece_seconds: float = PIECE_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(1, limit_seconds, POLL_SECONDS, clock)
        self._most, self._most_of_one, self._piece = most_waiting, most_of_one, piece_seconds
        self._had: dict[object, float] = {}  # seconds, by visitor
        self._even = 0.0  # seconds that each would have had if all who waited had shared evenly

    @contextmanager
    def turn(self, *, whole: bool = False) -> Iterator[None]:
        """Wait for a turn and hold it for the block; a turn within a turn is part of it.

        Args:
            whole: the work is one short piece that is not interrupted: it is timed, or of many
                small operations, before each of which to look at the clock would take long.

        Raises:
            FullError: too many wait.
        """
        pausing = nullcontext() if whole or self._ticket() else _Pausing(self._pause)
        with super().turn(), pausing:
            yield

    def _pause(self) -> None:
        """Let others go first, if the piece is over; one that was overdue waits its turn again."""
        if (ticket := self._ticket()) is None:
            return
        began = ticket.began  # another thread may find it overdue meanwhile
        if began is not None and self._clock() - began < self._piece:
            return
        device.settle()
        with self._lock:
            self._remove(ticket)
            self._enter(ticket, len(self._line))
            self._let_in()
        job_owner.stop_if_gone()
        self._wait(ticket)

    def _join(self) -> Ticket:
        with self._lock:
            if len(self._line) > self._most:
                raise FullError("waiting", most=self._most)
            visitor = job_owner.current()
            if sum(ticket.visitor == visitor for ticket in self._line) > self._most_of_one:
                raise FullError("waiting_own", most=self._most_of_one)
            return super()._join()

    def _waiting(self) -> list[Ticket]:
        full = sum(ticket.opened for ticket in self._line) >= MOST_OPEN
        return sorted(
            super()._waiting(),
            key=lambda ticket: (full and not ticket.opened, self._had[ticket.visitor]),
        )

    def _leave(self, ticket: Ticket) -> None:
        device.settle()
        super()._leave(ticket)

    def _enter(self, ticket: Ticket, at: int) -> None:
        there = {one.visitor for one in self._line}
        self._had = {v: t for v, t in self._had.items() if v in there or t > self._even}
        self._had[ticket.visitor] = max(self._had.get(ticket.visitor, 0.0), self._even)
        super()._enter(ticket, at)

    def _remove(self, ticket: Ticket) -> None:
        if ticket.began is not None:
            taken = self._clock() - ticket.began
            self._had[ticket.visitor] += taken
            self._even += taken / len({one.visitor for one in self._line})
        super()._remove(ticket)
        if not self._line:
            self._had, self._even = {}, 0.0

    def _drop(self, ticket: Ticket) -> None:
        logging.getLogger(__name__).warning("a turn took over %g s", self._limit)
        super()._drop(ticket)


_pages = Line(PAGES_AT_ONCE, PAGE_LIMIT_SECONDS, PAGE_POLL_SECONDS)


@st.cache_resource(show_spinner=False)
def _queue() -> Queue:
    return Queue(MOST_WAITING, LIMIT_SECONDS)


@contextmanager
def turn(*, whole: bool = False) -> Iterator[None]:
    """Wait for a turn in the line of all sessions and hold it; of `whole` see `Queue.turn`.

    Raises:
        FullError, RefusedError: the line, or the memory of the device, is full.
    """
    with _pages.aside(), _queue().turn(whole=whole), device.within_memory():
        yield


@contextmanager
def page() -> Iterator[None]:
    """Wait until a page may be drawn: a few are at a time, in the order in which they came.

    Threads share one interpreter: of hundreds that run at once each gets a hundredth, all end late,
    and the thread that sends what they have drawn waits for all of them. A few at a time end
    sooner.
    """
    with _pages.turn():
        yield


@contextmanager
def aside() -> Iterator[None]:
    """Give up the turns that this thread holds for the block, as it waits for others."""
    with _pages.aside(), _queue().aside():
        yield


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock for the block; until it is free, others get this thread's turn.

    Its holder may wait for that turn; and who has left waits no more.
    """
    while not lock.acquire(blocking=False):
        with aside():
            job_owner.stop_if_gone()
            if lock.acquire(timeout=POLL_SECONDS):
                lock.release()
    try:
        yield
    finally:
        lock.release()


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Once a server: threads, a dry run, then spare the garbage collector all that was imported.

    Streamlit collects after every run; with torch's 200,000 objects that takes 70 ms each time.
    """
    torch.set_num_threads(1)  # many sessions share the cores; one thread each serves them best
    config = LatentConfig(d_model=8, n_heads=2, d_head=4, d_latent_kv=4, d_rope=2)
    with torch.inference_mode():
        MultiHeadLatentAttention(config)(torch.zeros(1, 2, 8))
    gc.collect()
    gc.freeze()


def length() -> int:
    """Return how many turns are at work or waiting, of all sessions."""
    return len(_queue())
