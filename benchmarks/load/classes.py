"""A class that looks around, and one that arrives: how long reruns take, and who is not served."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.load.crowd import Crowd, Plan
from benchmarks.load.fleet import Fleet, bare_fleet, fleet, held, meter
from ui.settings.page import HOME

TRACEBACK = "Traceback (most recent call last)"
Row = dict[str, object]


def mixed(
    visitors: int = 100, seconds: float = 300, processes: int = 1, pause: float = 5.0
) -> Iterator[Row]:
    """Visitors of mixed pages, one action each `pause` seconds."""
    yield from _beside(Plan(visitors, visitors / 10, seconds, pause), processes)


def arriving(
    visitors: int = 300, seconds: float = 60, processes: int = 1, pause: float = 10.0
) -> Iterator[Row]:
    """Visitors who come within a minute, and then act now and then."""
    yield from _beside(Plan(visitors, 60, seconds, pause), processes)


def _beside(plan: Plan, processes: int) -> Iterator[Row]:
    """The app's row, and that of a bare page in the same run."""
    with fleet(processes) as apps:
        yield {"app": "ours", "processes": processes} | served(apps, plan)
    with bare_fleet() as apps:
        yield {"app": "bare", "processes": 1} | served(apps, replace(plan, pages=(HOME,)))


def served(apps: Fleet, plan: Plan) -> Row:
    """What became of a crowd, and what it cost."""
    taken, before = meter(apps), held(apps)["MiB"]
    crowd = Crowd([app.url for app in apps], plan)
    tally = asyncio.run(crowd.visit())
    for error in tally.errors[:5]:
        print(f"  {error:.300}", flush=True)
    row = tally.row() | {"tracebacks": sum(app.log.count(TRACEBACK) for app in apps)}
    return row | taken().row() | {"MiB before": before} | held(apps)
