"""The engine's calls against others' of the same result, side by side in one run.

    python benchmarks/engine.py [--threads 2] [--rounds 20] [case ...]

Every round times each side once, in turns, after a first round that is not counted. A ratio is of
medians; it is left out where the two results differ, or where a side's middle half is wider than
SPREAD of its median. Written to benchmarks/results/engine.json with versions, threads and device.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import engine_cases as cases  # noqa: E402 - found by the path

SPREAD = 0.25
ALIKE = 1e-4  # relative distance of the two results, float32
RESULTS = ROOT / "benchmarks" / "results" / "engine.json"


@dataclass(frozen=True)
class Timing:
    """Seconds of one side over all rounds."""

    seconds: list[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """The width of the middle half over the median."""
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / self.median


def in_turns(sides: dict[str, Callable], rounds: int) -> dict[str, Timing]:
    """Each side once a round, so that what else the machine does meets all of them."""
    taken = {name: [] for name in sides}
    for round_ in range(rounds + 1):
        for name, run in sides.items():
            start = time.perf_counter()
            run()
            if round_:
                taken[name].append(time.perf_counter() - start)
    return {name: Timing(seconds) for name, seconds in taken.items()}


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """The norm of the difference over the norm of the other."""
    return float((one - other).norm() / other.norm())


def row(case: cases.Case, rounds: int) -> dict[str, object]:
    """Return a case's times, and a ratio or why there is none."""
    apart = distance(case.ours(), case.theirs()) if case.same else 0.0
    sides = {"ours": case.ours, "theirs": case.theirs} | case.rates
    times = in_turns(sides, rounds)
    ours = times["ours"].median
    said = {"case": case.name, "reach": case.reach, "ours_ms": 1e3 * ours, "apart": apart}
    said |= {"theirs_ms": 1e3 * times["theirs"].median}
    said |= {"spread": max(times[name].spread for name in ("ours", "theirs"))}
    if apart > ALIKE:
        said["refused"] = f"the results differ by {apart:.1e}"
    elif said["spread"] > SPREAD:
        said["refused"] = f"the machine's spread is {said['spread']:.2f}, more than {SPREAD}"
    else:
        said["ratio"] = ours / times["theirs"].median
        if case.floor:
            rates = {name: min(times[name].seconds) for name in case.rates}
            said["of_floor"] = ours / case.floor(rates)
    return said


def about(threads: int) -> dict[str, object]:
    """Return what the figures were taken with."""
    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
        "threads": threads,
        "device": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def line(said: dict[str, object]) -> str:
    """A row of the table."""
    ratio = f"{said['ratio']:8.2f}" if "ratio" in said else f"{'none':>8}"
    floor = f"{said['of_floor']:10.2f}" if "of_floor" in said else f"{'':10}"
    times = f"{said['ours_ms']:10.2f}{said['theirs_ms']:11.2f}"
    reach, refused = said["reach"] or "report", said.get("refused", "")
    return f"{said['case']:46}{times}{ratio}{reach:>8}{floor}  {refused}"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=", ".join(cases.CASES))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=20)
    chosen = parser.parse_args()
    os.environ.setdefault("MLA_MEMORY_BUDGET_GIB", "4")
    torch.set_num_threads(chosen.threads)
    rows = []
    print(f"{'':46}{'ours ms':>10}{'theirs ms':>11}{'ratio':>8}{'reach':>8}{'of floor':>10}")
    with torch.inference_mode():
        for name in chosen.cases or cases.CASES:
            rows.append(row(cases.CASES[name](), chosen.rounds))
            print(line(rows[-1]), flush=True)
        memory = cases.memory()
    print(f"{'peak of a traced run / what it returns':46}{memory:29.2f}{1.2:8}")
    RESULTS.parent.mkdir(exist_ok=True)
    written = {"about": about(chosen.threads), "rows": rows, "peak_over_returned": memory}
    RESULTS.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
