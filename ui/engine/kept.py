"""One cache for all sessions, held to a budget of bytes: layers, runs and what was made of them.

What was used least lately goes first where room is needed, and what nobody asked for in a while
goes by itself. So a session holds keys, never arrays: it asks anew for what it shows, and what
has gone meanwhile is made again.
"""

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial, wraps
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary, ref

import streamlit as st
from cachetools import TTLCache
from cachetools.keys import typedkey

from mla_engine.late import Late
from ui.engine import device, queue
from ui.engine.engine import Engine, InProcess
from ui.engine.footprint import footprint
from ui.settings.server import server

on_ray = Late("ui.engine.on_ray")  # which needs requirements-ray.txt

GIB = 2**30
TIDYING_SECONDS = 20.0  # between two rounds that give memory back to the system
SHARE = 0.5  # of the budget, for what one page needs at once: those of two visitors fit

P, R = ParamSpec("P"), TypeVar("R")


class Shelf:
    """Values by their keys, within a budget of bytes and a time since each was last used."""

    def __init__(
        self, budget_bytes: int, seconds: float, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self.budget_bytes, self.seconds = budget_bytes, seconds
        self.hits = self.misses = 0  # of `get`
        self._values = TTLCache(budget_bytes, seconds, timer, getsizeof=lambda entry: entry[1])
        self._lock = threading.RLock()
        self._making: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()

    @property
    def held_bytes(self) -> int:
        """What the kept values hold together."""
        with self._lock:
            self._values.expire()
            return self._values.currsize

    def get(self, key: Hashable, make: Callable[[], R]) -> R:
        """The value of a key, made where there is none: by one caller, for whom others wait.

        An error is the caller's own and is not kept, nor is a value that is larger than the budget.
        """
        hit = True
        if (entry := self._found(key)) is None:
            with self._lock:
                making = self._making.setdefault(key, threading.Lock())
            with queue.held(making):
                if (entry := self._found(key)) is None:
                    entry, hit = self._keep(key, make()), False
        self._count(hit=hit)
        return entry[0]

    def at_hand(self, key: Hashable) -> object:
        """The value of a key, None where there is none."""
        entry = self._found(key)
        return entry and entry[0]

    def room_for(self, n_bytes: int) -> None:
        """Let go of values until there is room for what is made next, if it is to be kept at all.

        Called before it is made, so that what is kept and what is made are never beyond the budget
        together.
        """
        with self._lock:
            self._values.expire()
            while self._values and self._values.currsize + n_bytes > self.budget_bytes:
                self._values.popitem()

    def forget(self, function: str) -> None:
        """Let go of all that a function made, by its name."""
        with self._lock:
            for key in [key for key in self._values if key[0] == function]:
                del self._values[key]

    def expire(self) -> None:
        """Let go of what nobody used in time."""
        with self._lock:
            self._values.expire()

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._values.clear()

    def _count(self, *, hit: bool) -> None:
        with self._lock:
            self.hits += hit
            self.misses += not hit

    def _found(self, key: Hashable) -> tuple | None:
        with self._lock:
            try:
                entry = self._values[key]
            except KeyError:
                return None
            self._values[key] = entry  # its time begins anew
            return entry

    def _keep(self, key: Hashable, value: object) -> tuple:
        entry = value, footprint(value)
        if entry[1] <= self.budget_bytes:
            with self._lock:
                self._values[key] = entry
        return entry


@st.cache_resource(show_spinner=False)
def shelf() -> Shelf:
    """The one that all sessions share."""
    ours = server()
    made = Shelf(ours.share(ours.cache_budget_gib * GIB), ours.cache_seconds)
    pause = min(TIDYING_SECONDS, made.seconds)
    threading.Thread(target=_tidy, args=(ref(made), pause), name="tidy", daemon=True).start()
    return made


@st.cache_resource(show_spinner=False)
def engine() -> Engine:
    """Who does the heavy work of this server's pages, as MLA_ENGINE says."""
    return on_ray.engine(shelf()) if server().engine == "ray" else InProcess(shelf())


def _tidy(shelf: Callable[[], Shelf | None], pause: float) -> None:
    """Let go of what is over time, and give free memory back, as long as the shelf stands."""
    while True:
        time.sleep(pause)
        if (one := shelf()) is None:
            return
        one.expire()
        del one
        give_back()


def give_back() -> None:
    """Give memory that nothing holds any more back to the system."""
    gc.collect()  # of sessions that have ended: their parts point at each other
    with suppress(AttributeError, OSError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def keep(
    function: Callable[P, R] | None = None,
    *,
    by: Callable[P, Hashable] = typedkey,
    anywhere: bool = False,
    together: Callable[[list[tuple]], list[R]] | None = None,
) -> Callable[P, R]:
    """Decorate a function whose results all sessions share; its arguments are their key.

    Its attribute `at_hand` gives what is kept for some arguments, or None, and makes nothing;
    `clear` lets go of all that it made.

    Args:
        function: what makes a value. It changes nothing that its arguments do not say, and nobody
            writes into what it returns.
        by: what of the arguments is the key, where that is not all of them.
        anywhere: it is heavy work that `engine` may have another machine do: arguments and result
            can be pickled, and it takes its turn by itself.
        together: does several at once where several are asked for at a time, of a list of their
            arguments, in less time than one after the other.
    """
    if function is None:
        return partial(keep, by=by, anywhere=anywhere, together=together)
    if together:
        function.together = together
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def kept(*args: P.args, **kwargs: P.kwargs) -> R:
        key, work = (name, by(*args, **kwargs)), partial(function, *args, **kwargs)
        return engine().result(key, work) if anywhere else shelf().get(key, work)

    kept.at_hand = lambda *args: shelf().at_hand((name, by(*args)))
    kept.clear = lambda: shelf().forget(name)
    return kept


def room_for(n_bytes: int) -> None:
    """Make room for a large value before it is made, in the turn of the queue in which it is."""
    shelf().room_for(n_bytes)


def share_bytes() -> int:
    """The most that one page may need at once."""
    return int(SHARE * shelf().budget_bytes)


def held_bytes() -> int:
    """What all kept values hold together."""
    return shelf().held_bytes


def clear() -> None:
    """Let go of everything."""
    shelf().clear()
    gc.collect()


device.when_full(clear)
