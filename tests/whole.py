"""Runs the parts of `make test-all`, each by itself, and tells what passed and what it cost.

python -m tests.whole                   every part, `make test` first
python -m tests.whole browser deploy    some parts
python -m tests.whole --touched         names those whose area changed since they passed (by
                                        tests/README.md), as many as take 15 minutes together
python -m tests.whole --record          writes each result into the table of tests/README.md
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from tests.tiers import TABLE, files_of, touched

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("README.md")
PARTS = ["test", *TABLE["parts"]]
MOST_MINUTES = 15  # of the parts that a change calls for
DRAWN_FAULTS = 40
COUNTED = re.compile(r"(\d+) (passed|failed|error|skipped)")
FAULTS_FOUND = re.compile(r"(\d+) of (\d+) faults found")
SPENT = re.compile(r"^all (\d+);|faults found in (\d+) seconds", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """One row of the table in tests/README.md."""

    part: str
    date: str
    commit: str
    passed: int
    failed: int
    minutes: float
    processor_seconds: int

    def row(self) -> str:
        """The row as Markdown."""
        cells = (self.part, self.date, self.commit, f"{self.passed:,}", self.failed)
        return (
            f"| {' | '.join(map(str, cells))} | {self.minutes:.1f} | {self.processor_seconds:,} |"
        )

    @classmethod
    def read(cls, row: str) -> "Result":
        """A row read back."""
        part, date, commit, passed, failed, minutes, spent = row.strip("| ").split(" | ")
        whole = [int(number.replace(",", "")) for number in (passed, failed, spent)]
        return cls(part, date, commit, whole[0], whole[1], float(minutes), whole[2])


def results() -> dict[str, Result]:
    """The last result of each part, from tests/README.md."""
    rows = re.findall(r"^\| \w+ \| \d{4}-.*\|$", RESULTS.read_text("utf-8"), re.MULTILINE)
    return {result.part: result for result in map(Result.read, rows)}


def record(result: Result) -> None:
    """Put a result in the place of the part's last one."""
    text = RESULTS.read_text("utf-8")
    old = re.compile(rf"^\| {result.part} \| .*\|$", re.MULTILINE)
    assert len(old.findall(text)) == 1, f"tests/README.md has no row of {result.part}"
    RESULTS.write_text(old.sub(result.row(), text), "utf-8")


def missing(part: str) -> list[str]:
    """The programs and packages that a part needs and that are not here."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    needed = TABLE["needs"].get(part, [])
    return [name for name in needed if not which(name, path=path) and not find_spec(name)]


def run(part: str) -> Result:
    """Run a part and show what it prints."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    if part == "faults":
        seed = random.randrange(10**6)
        command = ["benchmarks/faults.py", "--drawn", str(DRAWN_FAULTS), "--seed", str(seed)]
    else:
        command = ["-m", "pytest", *files_of(part)]
    if part != "test":
        environment["MLA_TESTS"] = "all"
    begun, lines = time.monotonic(), []
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    minutes, said = (time.monotonic() - begun) / 60, "".join(lines)
    if found := FAULTS_FOUND.search(said):
        passed, failed = int(found[1]), int(found[2]) - int(found[1])
    else:
        counted = {
            kind: int(number) for number, kind in COUNTED.findall(lines[-1] if lines else "")
        }
        passed = counted.get("passed", 0)
        failed = counted.get("failed", 0) + counted.get("error", 0)
    if process.returncode and not failed:
        failed = 1  # it ended before it could count
    spent = SPENT.search(said)
    seconds = int(next(filter(None, spent.groups()))) if spent else 0
    return Result(part, _today(), _commit(), passed, failed, minutes, seconds)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _commit() -> str:
    return _git("rev-parse", "--short", "HEAD").strip()


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def called_for() -> list[str]:
    """The parts whose area changed since they last passed, as many as the time allows.

    A commit that is not in this clone counts as one before every change.
    """
    last, chosen, minutes = results(), [], 0.0
    for part in TABLE["parts"]:
        if part not in last or part == "faults":  # no change is to blame for what is drawn
            continue
        if not last[part].failed and part not in touched(_changed_since(last[part].commit)):
            continue
        if minutes + last[part].minutes <= MOST_MINUTES:
            chosen.append(part)
            minutes += last[part].minutes
        else:
            left_out = f"left out, beyond {MOST_MINUTES} minutes: make test-all PART={part}"
            print(left_out, file=sys.stderr)
    return chosen


def _changed_since(commit: str) -> list[str]:
    try:
        return _git("diff", "--name-only", commit, "--").splitlines()
    except subprocess.CalledProcessError:
        return _git("ls-files").splitlines()


def main() -> None:
    """Run what is asked for; ends with 1 where something failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--touched", action="store_true")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    failed = []
    if given.touched:
        print(*called_for())
        return
    for part in given.parts or PARTS:
        if lacking := missing(part):
            print(f"{part} fails: {', '.join(lacking)} not found; make test-all installs it")
            failed.append(part)
            continue
        print(f"== {part}", flush=True)
        result = run(part)
        if given.record:
            record(result)
        print(f"== {result.row()}", flush=True)
        failed += [part] * bool(result.failed)
    print(f"failed: {', '.join(failed)}" if failed else "every part passed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
