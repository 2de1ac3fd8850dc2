"""One piece of heavy work at a time, in the order of arrival: nobody waits twice as long."""

import gc
import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

import streamlit as st
import torch

from mla_engine import LatentConfig, MultiHeadLatentAttention
from mla_engine.refusals import RefusedError

MOST_WAITING = 64
LIMIT_SECONDS = 60.0  # of one turn: the longest run that the controls allow takes 35 on two cores


class FullError(RefusedError):
    """Too much waits to be run, so that nothing was begun: it may be asked for again."""


@dataclass(eq=False)
class _Ticket:
    """One place in the line; `began` is None until its turn has come."""

    thread: int
    began: float | None = None


class Queue:
    """The line. A turn within a turn is part of it; an overdue one no longer holds up the rest."""

    def __init__(self, most_waiting: int, limit_seconds: float) -> None:
        self._most, self._limit = most_waiting, limit_seconds
        self._line: deque[_Ticket] = deque()
        self._moved = threading.Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn, and hold it.

        Raises:
            FullError: the line is full.
        """
        if self._has_turn(threading.get_ident()):
            yield
            return
        ticket = self._join()
        try:
            self._wait(ticket)
            yield
        finally:
            self._leave(ticket)

    def _has_turn(self, thread: int) -> bool:
        with self._moved:
            return any(t.thread == thread and t.began is not None for t in self._line)

    def _join(self) -> _Ticket:
        with self._moved:
            if len(self._line) > self._most:
                raise FullError("waiting", most=self._most)
            self._line.append(ticket := _Ticket(threading.get_ident()))
            return ticket

    def _wait(self, ticket: _Ticket) -> None:
        with self._moved:
            while (first := self._line[0]) is not ticket:
                left = self._limit - (monotonic() - (first.began or monotonic()))
                if left > 0:
                    self._moved.wait(left)
                else:
                    logging.getLogger(__name__).warning("a turn took over %g s", self._limit)
                    self._line.popleft()
                    self._moved.notify_all()
            ticket.began = monotonic()

    def _leave(self, ticket: _Ticket) -> None:
        with self._moved:
            if ticket in self._line:  # an overdue one is out already
                self._line.remove(ticket)
            self._moved.notify_all()


@st.cache_resource(show_spinner=False)
def _queue() -> Queue:
    return Queue(MOST_WAITING, LIMIT_SECONDS)


@contextmanager
def turn() -> Iterator[None]:
    """A turn in the line that all sessions share.

    Raises:
        FullError: the line is full.
    """
    with _queue().turn():
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
