"""Runs tests again and again while other processes keep every core busy.

    python benchmarks/busy.py                          make test, three times, at a load of 8
    python benchmarks/busy.py --runs 1 tests/browser   some tests, once
    python benchmarks/busy.py --busy 0 --each          each folder of tests by itself, undisturbed

Tells of every run what passed and failed, how long it took, what processor time it used and how
many processes wanted a processor (median of the load average). Beside busy processes the tests wait
longer for what must come: tests/patience.py.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
ALWAYS = "while True: pass"
WORKERS = 2  # of pytest, which are part of the load


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that only take processor time."""
    each = [subprocess.Popen([sys.executable, "-c", ALWAYS]) for _ in range(count)]
    try:
        yield
    finally:
        for process in each:
            process.kill()
            process.wait()


def processor_seconds() -> float:
    """Return the processor seconds of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_make_test() -> list[str]:
    """The files of `make test`."""
    command = [sys.executable, "-m", "tests.tiers", "test"]
    return subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split()


def run(tests: list[str], named: str, patient: bool) -> bool:
    """One run of the tests; prints how far it is, its failures and its last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    settings = {"OMP_NUM_THREADS": "1"} | ({"MLA_BUSY": "1"} if patient else {})
    begin, used = time.monotonic(), processor_seconds()
    last, loads = "", []
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | settings,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as tests_run:  # fmt: skip
        for line in tests_run.stdout:
            last = line.rstrip()
            loads.append(os.getloadavg()[0])
            if last.endswith("%]") or last.startswith(("FAILED", "ERROR")):
                print(f"  {last}", flush=True)
    taken, used = time.monotonic() - begin, processor_seconds() - used
    load = median(loads)
    print(
        f"{named}: {last}; {taken:.0f} s, {used:.0f} s of processors, load {load:.1f}", flush=True
    )
    return tests_run.returncode == 0


def main() -> int:
    """Run them; 0 if all passed every time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "tests", nargs="*", help="paths and options for pytest, make test's by default"
    )
    parser.add_argument("--busy", type=int, default=8 - WORKERS, help="processes beside the tests")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--each", action="store_true", help="each folder of tests by itself")
    asked, options = parser.parse_known_args()
    folders = sorted(str(path.parent) for path in ROOT.glob("tests/*/__init__.py"))
    named = asked.tests or ["make test"]
    suites = {" ".join(named + options): (asked.tests or of_make_test()) + options}
    if asked.each:
        suites = {folder: [folder, *options] for folder in folders}
    with busy(asked.busy):
        passed = [
            run(tests, name, patient=asked.busy > 0)
            for _ in range(asked.runs)
            for name, tests in suites.items()
        ]
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
