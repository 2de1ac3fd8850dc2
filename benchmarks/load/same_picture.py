"""A whole class asks for the same heavy picture at the same moment: it is computed once."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.load.classes import TRACEBACK, Row
from benchmarks.load.crowd import in_thread
from benchmarks.load.fleet import fleet, held, meter
from benchmarks.load.visitor import Visitor
from benchmarks.measuring import percentile
from tests.attacks.client import StuckError
from tests.attacks.server import copied

COMPUTED = "a run of the engine"
PLACE = "        layer = one.layer\n"
COUNTED = {"ui/parts/maps/run.py": (PLACE, f'        print("{COMPUTED}", flush=True)\n{PLACE}')}
PAGE, QUERY = "attention_maps", "preset=deepseek-v3&map_run=16&map_generated=256&seed={seed}"
SEEDS = 2  # once with nothing kept but the code, once more when that is warm


def same_picture(visitors: int = 300, processes: int = 1, patience: float = 120.0) -> Iterator[Row]:
    """The same trace for all, asked for at once."""
    with tempfile.TemporaryDirectory() as place:
        root = copied(Path(place), COUNTED)
        with fleet(processes, root=root, folder=root) as apps:
            those = [Visitor(apps[n % processes].url, patience) for n in range(visitors)]
            yield from in_thread(_rounds(those, apps))


async def _rounds(those: list[Visitor], apps: list) -> list[Row]:
    for one in those:
        await one.come("notation")
    rows = []
    for seed in range(1, SEEDS + 1):
        taken, before = meter(apps), _count(apps, COMPUTED)
        found = await asyncio.gather(*(_ask(one, seed) for one in those))
        waits = [seconds for seconds in found if seconds is not None]
        row = {"asked": len(those), "answered": len(waits)}
        row |= {"computed": _count(apps, COMPUTED) - before}
        row |= {"first s": min(waits), "p50 s": percentile(waits, 0.5), "last s": max(waits)}
        row |= {"tracebacks": _count(apps, TRACEBACK)} | taken().row() | held(apps)
        rows.append(row)
    for one in those:
        await one.close()
    return rows


async def _ask(one: Visitor, seed: int) -> float | None:
    """Seconds until the maps were there; None where they were not."""
    began = time.monotonic()
    try:
        await one.go(PAGE, QUERY.format(seed=seed))
    except StuckError as error:
        print(f"  {error:.200}", flush=True)
        return None
    return time.monotonic() - began if one.seen.charts else None


def _count(apps: list, text: str) -> int:
    return sum(app.log.count(text) for app in apps)
