"""The faults of a class: a process is killed, others read slowly, or say nothing at all."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from urllib.parse import urlparse

from benchmarks.load.classes import TRACEBACK, Row
from benchmarks.load.crowd import Crowd, Plan, in_thread
from benchmarks.load.fleet import Fleet, fleet, held, room_for_descriptors
from benchmarks.load.visitor import Visitor
from benchmarks.measuring import percentile
from tests.attacks.server import App, healthy, started, wait_until

LOOKED_AT = ("overview", "rope", "kv_cache", "absorption", "compare")


def killed(
    visitors: int = 60,
    seconds: float = 40,
    processes: int = 3,
    pause: float = 5.0,
    patience: float = 60.0,
) -> Iterator[Row]:
    """One of several processes is killed under load, and started again."""
    room_for_descriptors()
    plan = Plan(visitors, visitors / 6, seconds, pause, LOOKED_AT, patience, returning=True)
    with ExitStack() as stack, fleet(processes) as apps:
        crowd = Crowd([app.url for app in apps], plan)
        victims = set(crowd.visitors[::processes])
        yield in_thread(_killed(crowd, apps, stack)) | {
            "of the killed": len(victims),
            "tracebacks": sum(app.log.count(TRACEBACK) for app in apps[1:]),
        }


async def _killed(crowd: Crowd, apps: Fleet, stack: ExitStack) -> Row:
    visiting = asyncio.create_task(crowd.visit())
    await asyncio.sleep(crowd.plan.arriving + crowd.plan.staying / 3)
    before = len(crowd.tally.answers)
    os.killpg(apps[0].process.pid, signal.SIGKILL)
    port = urlparse(apps[0].url).port
    again = stack.enter_context(started(port=port))
    await asyncio.to_thread(wait_until, partial(healthy, again), "it is back")
    restarted = time.monotonic()
    tally = await visiting
    quiet, after = tally.answers[:before], tally.answers[before:]
    waits = [moment - restarted for moment in tally.back]
    return {
        "visitors": len(crowd.visitors),
        "back": len(waits),
        "back max s": max(waits, default=0.0),
        "forgotten": len(tally.forgotten),
        "others p95 s before": percentile(quiet, 0.95),
        "others p95 s after": percentile(after, 0.95),
        "errors": len(tally.errors),
    }


def slow(
    visitors: int = 30,
    seconds: float = 30,
    pause: float = 5.0,
    silent: int = 1000,
    half_open: int = 200,
    deaf: int = 20,
) -> Iterator[Row]:
    """A class beside sockets that say nothing, requests that never end, and who never reads."""
    room_for_descriptors()
    plan = Plan(visitors, visitors / 6, seconds, pause, LOOKED_AT)
    with fleet(1) as (app,):
        quiet = in_thread(Crowd([app.url], plan).visit())
        yield {"beside": "nobody"} | quiet.row() | held([app])
        tally = in_thread(_beside(app, plan, silent, half_open, deaf))
        yield (
            {"beside": f"{silent} silent, {half_open} half-open, {deaf} deaf"}
            | tally.row()
            | {"tracebacks": app.log.count(TRACEBACK)}
            | held([app])
        )


async def _beside(app: App, plan: Plan, silent: int, half_open: int, deaf: int) -> object:
    half = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: "
    async with (
        _sockets(app, silent, b""),
        _sockets(app, half_open, half),
        _deaf(app, deaf, plan.pause),
    ):
        return await Crowd([app.url], plan, seed=1).visit()


@asynccontextmanager
async def _sockets(app: App, count: int, said: bytes) -> AsyncIterator[None]:
    """Connections that say so much and no more."""
    place = urlparse(app.url)
    opened = [socket.create_connection((place.hostname, place.port)) for _ in range(count)]
    try:
        for one in opened:
            one.sendall(said)
        yield
    finally:
        for one in opened:
            one.close()


@asynccontextmanager
async def _deaf(app: App, count: int, pause: float) -> AsyncIterator[None]:
    """Visitors who ask again and again, and read nothing of what they are sent."""
    those = [Visitor(app.url) for _ in range(count)]
    for one in those:
        await one.come("overview")
        one.connection.transport.pause_reading()
    asking = asyncio.create_task(_ask(those, pause))
    try:
        yield
    finally:
        asking.cancel()
        for one in those:
            one.connection.transport.abort()


async def _ask(those: list[Visitor], pause: float) -> None:
    while True:
        for one in those:
            with suppress(Exception):
                one.rerun(wait=False)
        await asyncio.sleep(pause)
