"""Measures what a rerun costs the server: with one slider moved, and with nothing changed.

    python benchmarks/reruns.py
    python benchmarks/reruns.py --pages kv_cache rope

Against a bare page with one slider and 2 heatmaps, on servers of their own, in turns. The visitor
is a plain client of the websocket that says which messages it has kept, as a browser does. What is
counted is the processor time of the server, so what else the machine does matters little. A slider
is moved to places where it has not been (new), and to the same ones once more (again).
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.measuring import (
    NOISY,
    App,
    Bare,
    Visitor,
    bare_app,
    cpu_seconds,
    our_app,
    places,
    report,
    spread,
)  # fmt: skip
from ui.frame.pages import PAGES

ROUNDS, NEW, UNCHANGED, BARE_RUNS = 3, 3, 10, 20
MOST_SPREAD = 0.3  # of the bare page's rounds
GOALS = {"new": 1.5, "again": 1.5, "unchanged": 1.2}


def per_run(app: App, runs: Iterable[Callable[[], object]]) -> float:
    """Milliseconds of the server's processor that each of these runs took."""
    begin = cpu_seconds(app)
    count = sum(1 for run in runs if run() or True)
    return 1000 * (cpu_seconds(app) - begin) / count


def moves(visitor: Visitor, to: Iterable[float]) -> list[Callable[[], object]]:
    """The runs that a slider's moves to these places ask for."""
    return [lambda place=place: visitor.move(visitor.slider(), place) for place in to]


def opened(app: App, page: str) -> Visitor:
    """A visitor of a page, where everything that the first runs make is made."""
    visitor = Visitor(app)
    visitor.open("" if page == "overview" else page)
    for _ in range(3):
        visitor.rerun()
    return visitor


def round_of(app: App, visitor: Visitor, new: list[float], unchanged: int) -> dict[str, float]:
    """Each kind of rerun, milliseconds."""
    taken = {}
    if new:
        taken["new"] = per_run(app, moves(visitor, new))
        taken["again"] = per_run(app, moves(visitor, [*new[:-1][::-1], new[-1]]))
    taken["unchanged"] = per_run(app, [visitor.rerun] * unchanged)
    return taken


def measured(page: str, ours: App, bare: App) -> dict[str, object]:
    """A row of the table."""
    with opened(ours, page) as visitor, opened(bare, "") as other:
        slider = visitor.slider()
        every = places(slider, ROUNDS * NEW) if slider else []
        parts = [every[n::ROUNDS] for n in range(ROUNDS)]
        there = [float(place) for place in range(31)] * 2
        beside, own = [], []
        for part in parts:
            beside.append(round_of(bare, other, there[:BARE_RUNS], BARE_RUNS))
            own.append(round_of(ours, visitor, part, UNCHANGED))
        received = visitor.received
        visitor.rerun()
        row = {"page": page, "slider": slider.label[:24] if slider else "none"}
    for kind in GOALS:
        bares = [each["new" if kind == "again" else kind] for each in beside]
        times = [each[kind] for each in own if kind in each]
        row[f"{kind} ms"] = statistics.median(times) if times else ""
        row[f"{kind} bare"] = statistics.median(bares)
        steady = spread(bares) <= MOST_SPREAD
        ratio = statistics.median(times) / statistics.median(bares) if times else ""
        row[f"{kind} ratio"] = ratio if steady else NOISY
    return row | {"unchanged kB": (visitor.received - received) / 1000}


def main() -> int:
    """Measure and print; 1 if a goal is not reached or a ratio could not be told."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", nargs="*", default=list(PAGES))
    given = parser.parse_args()
    with our_app() as ours, bare_app(Bare()) as bare:
        rows = []
        for page in given.pages:
            rows.append(measured(page, ours, bare))
            print(page, flush=True)
    report("reruns", rows, goals=GOALS, most_spread=MOST_SPREAD, rounds=ROUNDS)
    told = [row[f"{kind} ratio"] for row in rows for kind in GOALS]
    goals = [goal for _ in rows for goal in GOALS.values()]
    pairs = zip(told, goals, strict=True)
    return int(any(ratio == NOISY or (ratio != "" and ratio > goal) for ratio, goal in pairs))


if __name__ == "__main__":
    sys.exit(main())
