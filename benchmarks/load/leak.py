"""Measures what a long class leaves behind: memory by reruns, threads, open files, sessions."""

import asyncio
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load.classes import TRACEBACK, Row
from benchmarks.load.crowd import Crowd, Plan, in_thread
from benchmarks.load.fleet import fleet
from tests.attacks.server import MIB, App, wait_until

SAMPLES = 60
AWAY = {"MLA_CACHE_SECONDS": "20"}
TTL = 5  # seconds that Streamlit keeps the session of who has left
GONE_SECONDS = 90.0  # until sessions and what is kept are over, at the latest
REST_SECONDS = 60.0  # until memory is given back to the system, too
FEW = 8  # threads and files that a server opens for itself with its first visitors


@dataclass(frozen=True)
class Sample:
    """A server at one moment."""

    reruns: int
    resident: float  # MiB, without the workers
    threads: int
    files: int


def sampled(app: App, reruns: int) -> Sample:
    """The server now."""
    place = Path(f"/proc/{app.process.pid}")
    threads = len(list((place / "task").iterdir()))
    files = len(list((place / "fd").iterdir()))
    return Sample(reruns, app.resident_bytes(workers=False) / MIB, threads, files)


def leak(
    visitors: int = 50,
    seconds: float = 3600,
    pause: float = 5.0,
    gone: float = GONE_SECONDS,
    rest: float = REST_SECONDS,
) -> Iterator[Row]:
    """Visitors with varied settings; the first sixth of the time warms the server up."""
    options = ("--server.disconnectedSessionTTL", str(TTL))
    with fleet(1, AWAY, options=options) as (app,):
        start = sampled(app, 0)
        yield {"at": "the start"} | vars(start)
        crowd = Crowd([app.url], Plan(visitors, visitors / 5, seconds, pause))
        samples = in_thread(_watched(app, crowd))
        warm = samples[len(samples) // 6 :]
        yield {"at": "warm"} | vars(warm[0])
        yield {"at": "the end"} | vars(warm[-1]) | {"MiB per 1,000 reruns": slope(warm)}
        with suppress(TimeoutError):
            wait_until(lambda: given_back(app, start), "all is given back", gone)
        time.sleep(rest)
        errors = {"errors": len(crowd.tally.errors), "tracebacks": app.log.count(TRACEBACK)}
        yield {"at": "all have left"} | vars(sampled(app, len(crowd.tally.answers))) | errors


async def _watched(app: App, crowd: Crowd) -> list[Sample]:
    visiting = asyncio.create_task(crowd.visit())
    await asyncio.sleep(crowd.plan.arriving)
    samples = []
    while not visiting.done():
        samples.append(sampled(app, len(crowd.tally.answers)))
        await asyncio.sleep(random.uniform(0.9, 1.1) * crowd.plan.staying / SAMPLES)
    for error in (await visiting).errors[:5]:
        print(f"  {error:.300}", flush=True)
    return samples


def given_back(app: App, start: Sample) -> bool:
    """Tell whether the server has no more threads and open files than before anybody came."""
    now = sampled(app, 0)
    return now.threads <= start.threads + FEW and now.files <= start.files + FEW


def slope(samples: list[Sample]) -> float:
    """MiB for each 1,000 reruns, by least squares."""
    if len({one.reruns for one in samples}) < 2:
        return 0.0
    reruns = [one.reruns for one in samples]
    return 1000 * statistics.linear_regression(reruns, [one.resident for one in samples]).slope
