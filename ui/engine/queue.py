"""Heavy work, one piece at a time and fair between visitors: nobody waits for all of another's.

A turn is worked off in pieces: once it has lasted one, it lets those go first who have had less.
Whoever has left, or has asked for something newer, gives up the place as Streamlit ends a run.
"""

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from time import monotonic

import streamlit as st
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mla_engine import LatentConfig, MultiHeadLatentAttention
from mla_engine.refusals import RefusedError
from ui.engine import asker, device, gate

MOST_WAITING = 64
MOST_OF_ONE = 4  # of these, of one visitor
MOST_OPEN = 2  # turns that are begun and not ended: for so many the budget of memory is made
PIECE_SECONDS = 0.2  # after which a turn lets others go first
LIMIT_SECONDS = 10.0  # after which the others no longer wait: one operation takes under 1
POLL_SECONDS = 0.1  # within which a visitor who has left is seen


class FullError(RefusedError):
    """Not done now, to be asked for again: too much waits, or what worked on it has gone."""


@dataclass(eq=False)
class _Ticket:
    """One place in the line.

    Args:
        thread, visitor: whose place and work it is.
        open: whether a piece of its turn was done, so that it holds memory.
        began: when its present piece did, None while it waits.
    """

    thread: int
    visitor: object
    open: bool = False
    began: float | None = None


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


class Queue:
    """The line: of all who wait, the visitor goes first who has had the least time.

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
        self._most, self._most_of_one = most_waiting, most_of_one
        self._limit, self._piece, self._clock = limit_seconds, piece_seconds, clock
        self._line: list[_Ticket] = []  # in the order of arrival, whose turn it is among them
        self._had: dict[object, float] = {}  # seconds, by visitor
        self._even = 0.0  # seconds that each would have had if all who waited had shared evenly
        self._moved = threading.Condition()

    @contextmanager
    def turn(self, *, whole: bool = False) -> Iterator[None]:
        """Wait for the turn, and hold it; a turn within a turn is part of it.

        Args:
            whole: the work is one short piece that must not be interrupted, as it is timed.

        Raises:
            FullError: the line is full.
        """
        if self._has_turn(threading.get_ident()):
            yield
            return
        asker.stop_if_asked()
        ticket = self._join()
        try:
            self._begin(ticket)
            with nullcontext() if whole else _Pausing(partial(self._pause, ticket)):
                yield
        finally:
            device.settle()
            with self._moved:
                self._end(ticket)

    def _has_turn(self, thread: int) -> bool:
        with self._moved:
            return any(t.thread == thread and t.began is not None for t in self._line)

    def _join(self) -> _Ticket:
        visitor = asker.visitor()
        with self._moved:
            if len(self._line) > self._most:
                raise FullError("waiting", most=self._most)
            if sum(t.visitor == visitor for t in self._line) > self._most_of_one:
                raise FullError("waiting_own", most=self._most_of_one)
            ticket = _Ticket(threading.get_ident(), visitor)
            self._enter(ticket)
            return ticket

    def _enter(self, ticket: _Ticket) -> None:
        there = {t.visitor for t in self._line}
        self._had = {v: t for v, t in self._had.items() if v in there or t > self._even}
        self._had[ticket.visitor] = max(self._had.get(ticket.visitor, 0.0), self._even)
        self._line.append(ticket)

    def _begin(self, ticket: _Ticket) -> None:
        with self._moved:
            while self._first() is not ticket:
                self._moved.wait(POLL_SECONDS)
                asker.stop_if_asked()
                asker.tell(self._place(ticket))
            ticket.began, ticket.open = self._clock(), True
        asker.tell(0)

    def _place(self, ticket: _Ticket) -> int:
        """Of those who wait, from 1, in the order in which they would go now."""
        waiting = [t for t in self._line if t.began is None]
        return sorted(waiting, key=lambda t: self._had[t.visitor]).index(ticket) + 1

    def _first(self) -> _Ticket:
        """Whose turn it is, or whose it is next; an overdue one is out of the line."""
        at_work = next((t for t in self._line if t.began is not None), None)
        if at_work and self._clock() - at_work.began >= self._limit:
            logging.getLogger(__name__).warning("a turn took over %g s", self._limit)
            self._end(at_work)
            at_work = None
        opened = [t for t in self._line if t.open]
        waiting = opened if len(opened) >= MOST_OPEN else self._line
        return at_work or min(waiting, key=lambda t: self._had[t.visitor])

    def _pause(self, ticket: _Ticket) -> None:
        """Let others go first, if the piece is over; one that was overdue waits its turn again."""
        if ticket.began is not None and self._clock() - ticket.began < self._piece:
            return
        device.settle()
        with self._moved:
            self._end(ticket)
            self._enter(ticket)
        asker.stop_if_asked()
        self._begin(ticket)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Without the turn that this thread holds, if it does: for those that it waits for."""
        me = threading.get_ident()
        with self._moved:
            held = next((t for t in self._line if t.thread == me and t.began is not None), None)
            if held:
                self._end(held)
        yield
        if held:
            with self._moved:
                self._enter(held)
            self._begin(held)

    def _end(self, ticket: _Ticket) -> None:
        if ticket not in self._line:  # overdue
            return
        if ticket.began is not None:
            taken, ticket.began = self._clock() - ticket.began, None
            self._had[ticket.visitor] += taken
            self._even += taken / len({t.visitor for t in self._line})
        self._line.remove(ticket)
        if not self._line:
            self._had, self._even = {}, 0.0
        self._moved.notify_all()


@contextmanager
def aside() -> Iterator[None]:
    """Outside of the gate and of the turn that this thread holds: it waits for others."""
    with gate.aside(), _queue().aside():
        yield


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """A lock, not waited for in a turn, as its holder may wait for one; nor by who has left."""
    while not lock.acquire(blocking=False):
        with aside():
            asker.stop_if_asked()
            if lock.acquire(timeout=POLL_SECONDS):
                lock.release()
    try:
        yield
    finally:
        lock.release()


@st.cache_resource(show_spinner=False)
def _queue() -> Queue:
    return Queue(MOST_WAITING, LIMIT_SECONDS)


@contextmanager
def turn(*, whole: bool = False) -> Iterator[None]:
    """A turn in the line that all sessions share; of `whole` see `Queue.turn`.

    Raises:
        FullError, RefusedError: the line, or the memory of the device, is full.
    """
    with gate.aside(), _queue().turn(whole=whole), device.within_memory():
        yield


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
    """How many turns are at work or waiting, of all sessions."""
    return len(_queue()._line)
