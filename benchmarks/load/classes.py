"""A class that looks around, and one that arrives: how long reruns take, and who is not served."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.load.browsers import among
from benchmarks.load.crowd import Crowd, Plan, Tally, in_thread
from benchmarks.load.fleet import Fleet, bare_fleet, fleet, held, meter
from ui.settings.page import HOME

WARM = {"MLA_WARM": "1"}
TRACEBACK = "Traceback (most recent call last)"
Row = dict[str, object]


def mixed(
    visitors: int = 100,
    seconds: float = 300,
    processes: int = 1,
    pause: float = 5.0,
    browsers: int = 10,
    bare: int = 1,
) -> Iterator[Row]:
    """Visitors of mixed pages, one action each `pause` seconds."""
    yield from _beside(Plan(visitors, visitors / 10, seconds, pause), processes, browsers, bare)


def arriving(
    visitors: int = 300,
    seconds: float = 60,
    processes: int = 1,
    pause: float = 10.0,
    browsers: int = 10,
    arriving: float = 60.0,
    bare: int = 1,
) -> Iterator[Row]:
    """Visitors who come within a minute, and then act now and then."""
    yield from _beside(Plan(visitors, arriving, seconds, pause), processes, browsers, bare)


def _beside(plan: Plan, processes: int, browsers: int, bare: int) -> Iterator[Row]:
    """The app's row, and that of a bare page in the same run."""
    with fleet(processes, WARM) as apps:
        yield {"app": "ours", "processes": processes} | served(apps, plan, browsers)
    if bare:
        with bare_fleet() as apps:
            yield {"app": "bare", "processes": 1} | served(apps, replace(plan, pages=(HOME,)))


def served(apps: Fleet, plan: Plan, browsers: int = 0) -> Row:
    """Load apps with a crowd and some browsers; return what became of it, and what it cost."""
    taken, before = meter(apps), held(apps)["MiB"]
    tally, seen = in_thread(_visited([app.url for app in apps], plan, browsers))
    for error in (tally.errors + seen.errors)[:5]:
        print(f"  {error:.300}", flush=True)
    row = tally.row() | {"tracebacks": sum(app.log.count(TRACEBACK) for app in apps)}
    if browsers:
        told = "in", "in max s", "answered", "p50 s", "p95 s", "errors"
        row |= {f"browsers' {name}": seen.row()[name] for name in told}
    used = taken()
    runs = max(1, len(tally.entered) + len(tally.answers) + seen.asked + browsers)
    row |= used.row() | {"server ms a run": 1000 * used.server_seconds / runs}
    return row | {"MiB before": before} | held(apps)


async def _visited(urls: list[str], plan: Plan, browsers: int) -> tuple[Tally, Tally]:
    crowd = Crowd(urls, replace(plan, visitors=plan.visitors - browsers)).visit()
    if not browsers:
        return await crowd, Tally()
    return await asyncio.gather(crowd, among(urls, browsers, plan))
