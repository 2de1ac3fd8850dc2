"""Many drawn links against one real server, some visitors at a time, each leaving when it has seen.

Counted are tracebacks in the log, errors on the screen, and runs that never end; measured is the
memory at the start, at the peak, and after all have left and what is kept has run out.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random

from benchmarks.attacks.place import CACHE_BYTES, Place, place
from benchmarks.attacks.rows import MIB, Row, mebibytes, none, peak
from tests.attacks.client import Session, StuckError
from tests.attacks.drawn import link, query
from tests.attacks.server import App

TRACEBACK = "Traceback (most recent call last)"
REPORTED = 100  # links between two lines
LEEWAY_BYTES = 300 * MIB  # over what the server held at its start, beside the cache's budget

Link = tuple[str, list[tuple[str, str]]]


@dataclass
class Found:
    """What went wrong, by link."""

    tracebacks: list[tuple[str, str]] = field(default_factory=list)
    exceptions: list[tuple[str, str]] = field(default_factory=list)
    stuck: list[tuple[str, str]] = field(default_factory=list)
    slow: list[tuple[str, str]] = field(default_factory=list)
    flying: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    log_seen: int = 0

    def note(self, kind: str, address: str, what: str) -> None:
        """Keep it and say it at once, since the whole takes hours."""
        getattr(self, kind).append((address, what))
        print(f"{kind}: {what[-1500:]}\n    {address[:1000]}", flush=True)

    def read(self, app: App) -> None:
        """Tracebacks that the log has got since, under the links that are open now."""
        with self.lock:
            log = app.log
            fresh, self.log_seen = log[self.log_seen :], len(log)
            for _ in range(fresh.count(TRACEBACK)):
                self.note("tracebacks", "  or  ".join(self.flying), fresh[-3000:])


def measure(
    count: int = 10_000,
    *,
    visitors: int = 6,
    seed: int = 0,
    patience: float = 120,
    rest: float = 900,
) -> Iterator[Row]:
    """The rows of `count` links; `rest` seconds pass before the memory is measured again."""
    draw, found = Random(seed), Found()
    with place() as where:
        links = [link(draw, where.sources) for _ in range(count)]
        see(where, "")
        start = where.app.resident_bytes()
        with peak(where.app.resident_bytes) as most, ThreadPoolExecutor(visitors) as pool:
            try:
                _open_all(where, found, pool, links, patience)
            finally:
                pool.shutdown(cancel_futures=True)
        time.sleep(rest)
        see(where, "")
        left = where.app.resident_bytes()
    yield none("urls", f"tracebacks of {count} links", len(found.tracebacks))
    yield none("urls", "errors on the screen", len(found.exceptions))
    yield none("urls", "stuck, also when asked again", len(found.stuck))
    yield Row("urls", f"slower than {patience:g} s, once", str(len(found.slow)))
    yield mebibytes("urls", "memory at the start", start)
    yield mebibytes("urls", "memory at the peak", most[0])
    yield mebibytes("urls", "after all have left", left, start + LEEWAY_BYTES + CACHE_BYTES)


def _open_all(
    where: Place, found: Found, pool: Executor, links: list[Link], patience: float
) -> None:
    """Visit all links, and say now and then how far it is."""
    began = time.monotonic()
    tasks = [
        pool.submit(visit, where, found, page, query(given), patience) for page, given in links
    ]
    for done, task in enumerate(tasks, start=1):
        task.result()
        if done % REPORTED == 0:
            used = where.app.resident_bytes() / MIB
            print(f"{done} links, {time.monotonic() - began:.0f} s, {used:.0f} MiB", flush=True)


def visit(where: Place, found: Found, page: str, text: str, patience: float) -> None:
    """Open one link; a run that does not end is asked for once more, by somebody else."""
    address = f"/{page}?{text}"
    found.flying.add(address)
    try:
        exceptions = see(where, page, text, patience)
    except StuckError as slow:
        found.note("slow", address, str(slow))
        try:
            exceptions = see(where, page, text, patience)
        except StuckError as stuck:
            found.note("stuck", address, str(stuck))
            exceptions = []
    for shown in exceptions:
        found.note("exceptions", address, shown)
    found.read(where.app)
    found.flying.discard(address)


def see(where: Place, page: str, text: str = "", patience: float = 120) -> list[str]:
    """The errors that a page shows."""
    with Session(where.app.url, patience=patience) as visitor:
        return visitor.open(page, text).exceptions
