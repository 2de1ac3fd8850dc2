"""Messages that no browser sends, each followed by a good one that must be answered as always."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

from benchmarks.attacks.place import place
from benchmarks.attacks.rows import Row, mebibytes, none, peak
from benchmarks.attacks.urls import TRACEBACK
from tests.attacks.client import Session, StuckError
from tests.attacks.forged import GOOD, exchange, forged
from ui.settings.page import HOME
from ui.settings.rooms import PAGES

PAGES_TO_SEE = sorted(set(PAGES) - {HOME, "compression"})
NO_MESSAGE = "Error deserializing back message"
PER_VISITOR = 100  # messages before somebody else comes


def measure(
    count: int = 3_000, *, visitors: int = 4, seed: int = 0, patience: float = 120, rest: float = 0
) -> Iterator[Row]:
    """The rows of `count` messages."""
    stuck: list[str] = []
    with place() as where:
        with Session(where.app.url) as visitor:
            visitor.open(GOOD)
        start = where.app.resident_bytes()
        with peak(where.app.resident_bytes) as most, ThreadPoolExecutor(visitors) as pool:
            parts = range(-(-count // PER_VISITOR))
            tasks = [pool.submit(_visit, where.app.url, seed + part, patience) for part in parts]
            try:
                for task in tasks:
                    stuck += task.result()
            finally:
                pool.shutdown(cancel_futures=True)
        threading.Event().wait(rest)
        log, left = where.app.log, where.app.resident_bytes()
    for place_of in _tracebacks(log):
        print(place_of, flush=True)
    sent, no_message = len(parts) * PER_VISITOR, log.count(NO_MESSAGE)
    yield Row("messages", "bytes that are no message, in the log", str(no_message))
    yield none("messages", f"tracebacks of {sent} messages", log.count(TRACEBACK))
    yield none("messages", "good messages not answered", len(stuck))
    yield mebibytes("messages", "memory at the start", start)
    yield mebibytes("messages", "memory at the peak", most[0])
    yield mebibytes("messages", "memory at the end", left)


def _tracebacks(log: str) -> set[str]:
    """The last lines of each kind of traceback."""
    found = log.split(TRACEBACK)[1:]
    return {"\n".join(one.splitlines()[:40]) for one in found}


def _visit(url: str, seed: int, patience: float) -> list[str]:
    """A visitor's messages; what was sent where the good message was not answered."""
    draw, broken = Random(seed), []
    session = Session(url, patience=patience)
    session.open(GOOD)
    for number in range(PER_VISITOR):
        sent: object = "nothing"
        try:
            if draw.random() < 0.3:
                session.open(draw.choice(PAGES_TO_SEE))
            sent = forged(draw, session.seen, session.state)
            session = exchange(session, sent, url, f"m{seed}n{number}")
        except StuckError as stuck:
            broken.append(f"{stuck}")
            print(f"not answered: {stuck!s:.600}\n    after {sent!s:.1500}", flush=True)
            session.close()
            session = Session(url, patience=patience)
    session.close()
    return broken
