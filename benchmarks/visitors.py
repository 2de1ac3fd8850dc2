"""Counts the reruns a second that 100 visitors are served, who move a slider now and then.

    python benchmarks/visitors.py                        every page
    python benchmarks/visitors.py --pages kv_cache       some of them
    python benchmarks/visitors.py --visitors 30 --seconds 20

Against the same load on a bare page with one slider and 2 heatmaps, on servers of their own, in
turns: bare, ours, bare. "At least" compares with the better of the two bare turns, and is told also
where these differ: under such a load the bare page often falls behind in one of them.

A visitor moves the slider to a random place, waits for the answer as a reader would, and goes on 5
to 10 s after the move, or at once where the answer took longer.
"""

import argparse
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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
    percentile,
    places,
    report,
    spread,
)  # fmt: skip
from tests.attacks.client import StuckError
from ui.frame.pages import PAGES

GOAL = 0.7
MOST_SPREAD = 0.1  # of what the bare page served before and after
PAUSE_SECONDS = 5.0, 10.0
MOST_PLACES = 60
PATIENCE_SECONDS = 120


class Crowd:
    """Visitors of one page, who begin to move together when all of them see it."""

    def __init__(self, app: App, page: str, visitors: int, seconds: float) -> None:
        self.app, self.page, self.seconds = app, page, seconds
        self.ready = threading.Barrier(visitors + 1)
        self.answers: list[float] = []  # seconds that each took
        self.broken = 0

    def visit(self, number: int) -> None:
        """One visitor, from the opening of the page until the time is over."""
        visitor = None
        try:
            visitor = Visitor(self.app)
            visitor.patience = PATIENCE_SECONDS
            visitor.open("" if self.page == "overview" else self.page)
        except (StuckError, OSError):
            self.broken += 1
            visitor = None
        self.ready.wait()
        if visitor:
            with visitor, suppress(StuckError):
                self._move(visitor, random.Random(number))

    def _move(self, visitor: Visitor, draw: random.Random) -> None:
        slider = visitor.slider()
        to = places(slider, MOST_PLACES) if slider else []
        end = time.monotonic() + self.seconds
        due = time.monotonic() + draw.uniform(0, PAUSE_SECONDS[1])
        while due < end:
            time.sleep(max(0.0, due - time.monotonic()))
            moved = time.monotonic()
            if to:
                visitor.move(slider, draw.choice(to))
            else:
                visitor.rerun()
            if time.monotonic() < end:
                self.answers.append(time.monotonic() - moved)
            due = moved + draw.uniform(*PAUSE_SECONDS)


def served(app: App, page: str, visitors: int, seconds: float) -> dict[str, float]:
    """Reruns a second, how long they took, and how many cores the server kept busy."""
    crowd = Crowd(app, page, visitors, seconds)
    with ThreadPoolExecutor(visitors) as pool:
        tasks = [pool.submit(crowd.visit, number) for number in range(visitors)]
        crowd.ready.wait()
        used = cpu_seconds(app)
        time.sleep(seconds)
        used = cpu_seconds(app) - used
        for task in tasks:
            task.result()
    answers = crowd.answers or [seconds]
    return {
        "served/s": len(crowd.answers) / seconds,
        "p50 s": percentile(answers, 0.5),
        "p95 s": percentile(answers, 0.95),
        "cores": used / seconds,
        "turned away": crowd.broken,
    }


def measured(page: str, ours: App, bare: App, visitors: int, seconds: float) -> dict[str, object]:
    """A row of the table."""
    before = served(bare, "overview", visitors, seconds)
    own = served(ours, page, visitors, seconds)
    after = served(bare, "overview", visitors, seconds)
    both = [before["served/s"], after["served/s"]]
    ratio = own["served/s"] / (sum(both) / 2) if spread(both) <= MOST_SPREAD else NOISY
    beside = {f"bare {name}": before[name] for name in ("served/s", "p50 s", "p95 s", "cores")}
    return {"page": page} | own | beside | {"ratio": ratio, "at least": own["served/s"] / max(both)}


def main() -> int:
    """Measure and print; 1 if the goal is not reached or a ratio could not be told."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", nargs="*", default=list(PAGES))
    parser.add_argument("--visitors", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    rows = []
    with bare_app(Bare()) as bare:
        for page in given.pages:
            with our_app() as ours:
                rows.append(measured(page, ours, bare, given.visitors, given.seconds))
            print(rows[-1], flush=True)
    about = {"visitors": given.visitors, "seconds": given.seconds}
    report("visitors", rows, goal=GOAL, most_spread=MOST_SPREAD, **about)
    return int(any(row["ratio"] == NOISY or row["ratio"] < GOAL for row in rows))


if __name__ == "__main__":
    sys.exit(main())
