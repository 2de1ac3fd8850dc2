"""Keep one result per key for all sessions, within a byte budget: layers, runs and pictures.

The least recently used value is evicted where room is needed, and what nobody asked for in a
while expires. So a session holds keys, never arrays: it asks again for what it shows, and what
was evicted meanwhile is made again.
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

from kvcount.lazy import LazyModule
from ui.engine import device, queue
from ui.engine.footprint import footprint
from ui.settings.server import server

on_ray = LazyModule("ui.engine.on_ray")  # which needs requirements-ray.txt

GIB = 2**30
EXPIRY_SECONDS = 20.0  # between two rounds that evict what is over time
PAGE_SHARE = 0.5  # of the budget, for what one page needs at once: those of two visitors fit

P, R = ParamSpec("P"), TypeVar("R")


class SharedCache:
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
        """The bytes of all values."""
        with self._lock:
            self._values.expire()
            return self._values.currsize

    def get(self, key: Hashable, make: Callable[[], R]) -> R:
        """Return the value of a key; where there is none, one caller makes it and others wait.

        An error is the caller's own and is not kept, nor is a value that is larger than the budget.
        """
        hit = True
        if (entry := self._found(key)) is None:
            with self._lock:
                making = self._making.setdefault(key, threading.Lock())
            with queue.held(making):
                if (entry := self._found(key)) is None:
                    entry, hit = self._put(key, make()), False
        with self._lock:
            self.hits += hit
            self.misses += not hit
        return entry[0]

    def peek(self, key: Hashable) -> object:
        """Return the value of a key, None where there is none."""
        entry = self._found(key)
        return entry and entry[0]

    def evict_for(self, n_bytes: int) -> None:
        """Evict values until so many bytes more fit into the budget.

        Called before a large value is made, so that it and the others never exceed the budget.
        """
        with self._lock:
            self._values.expire()
            while self._values and self._values.currsize + n_bytes > self.budget_bytes:
                self._values.popitem()

    def evict(self, function: str) -> None:
        """Evict all that a function made, by its name."""
        with self._lock:
            for key in [key for key in self._values if key[0] == function]:
                del self._values[key]

    def expire(self) -> None:
        """Evict what nobody used in time."""
        with self._lock:
            self._values.expire()

    def clear(self) -> None:
        """Evict everything."""
        with self._lock:
            self._values.clear()

    def _found(self, key: Hashable) -> tuple | None:
        with self._lock:
            try:
                entry = self._values[key]
            except KeyError:
                return None
            self._values[key] = entry  # its time begins again
            return entry

    def _put(self, key: Hashable, value: object) -> tuple:
        entry = value, footprint(value)
        if entry[1] <= self.budget_bytes:
            with self._lock:
                self._values[key] = entry
        return entry


@st.cache_resource(show_spinner=False)
def cache() -> SharedCache:
    """The cache of this process, with the budget that its settings give it."""
    ours = server()
    made = SharedCache(ours.share(ours.cache_budget_gib * GIB), ours.cache_seconds)
    pause = min(EXPIRY_SECONDS, made.seconds)
    threading.Thread(target=_expire, args=(ref(made), pause), name="expiry", daemon=True).start()
    return made


@st.cache_resource(show_spinner=False)
def engine() -> "SharedCache | on_ray.OnRay":
    """The cache for heavy work: as MLA_ENGINE says, it is done in this process or on a cluster."""
    return on_ray.engine(cache()) if server().engine == "ray" else cache()


def _expire(cache: Callable[[], SharedCache | None], pause: float) -> None:
    """Expire values and give free memory back again and again, as long as the cache lives."""
    while True:
        time.sleep(pause)
        if (one := cache()) is None:
            return
        one.expire()
        del one
        gc.collect()  # of sessions that have ended: their parts point at each other
        with suppress(AttributeError, OSError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)


def cached(
    function: Callable[P, R] | None = None,
    *,
    key: Callable[P, Hashable] = typedkey,
    anywhere: bool = False,
    batch: Callable[[list[tuple]], list[R]] | None = None,
) -> Callable[P, R]:
    """Decorate a function whose results all sessions share; its arguments are their key.

    Its attribute `peek` returns the result for some arguments, None where there is none; `clear`
    evicts all of its results.

    Args:
        function: makes a value. It changes nothing that its arguments do not say, and nobody
            writes into what it returns.
        key: makes the key of the arguments, where that is not all of them.
        anywhere: it is heavy work that another machine may do: arguments and result can be
            pickled, and it takes its own turn of the queue.
        batch: does several at once, given a list of their arguments, in less time than one after
            the other.
    """
    if function is None:
        return partial(cached, key=key, anywhere=anywhere, batch=batch)
    if batch:
        function.batch = batch
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def shared(*args: P.args, **kwargs: P.kwargs) -> R:
        work = partial(function, *args, **kwargs)
        return (engine() if anywhere else cache()).get((name, key(*args, **kwargs)), work)

    shared.peek = lambda *args: cache().peek((name, key(*args)))
    shared.clear = lambda: cache().evict(name)
    return shared


def evict_for(n_bytes: int) -> None:
    """Make room for a large value before it is made, in the turn of the queue that makes it."""
    cache().evict_for(n_bytes)


def page_budget_bytes() -> int:
    """The most bytes that one page may need at once."""
    return int(PAGE_SHARE * cache().budget_bytes)


def clear() -> None:
    """Evict everything."""
    cache().clear()
    gc.collect()


device.when_full(clear)
