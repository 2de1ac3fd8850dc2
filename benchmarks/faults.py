"""Plants one-line faults in ui, each in a copy of the project, and tells which the tests find.

    python benchmarks/faults.py              every fault of tests/faults
    python benchmarks/faults.py rope compute those of some rooms
    python benchmarks/faults.py --jobs 2     two copies side by side

A fault is found when the fast tests, without a browser, fail: first those of its room, then, where
these pass, all others of tests/ui.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAULTS = ROOT / "tests/faults"
TESTS = "tests/ui/pages/test_{}*.py"  # of a room
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "models", "build")
PATIENCE_SECONDS = 900  # a test that hangs has found the fault too


@dataclass(frozen=True)
class Fault:
    """One line of `file` in which `old` becomes `new`."""

    room: str
    file: str
    kind: str
    old: str
    new: str

    def plant(self, tree: Path) -> None:
        """Write the fault into a copy of the project.

        Raises:
            ValueError: the file does not hold `old` exactly once.
        """
        path = tree / self.file
        text = path.read_text("utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has {self.old!r} {text.count(self.old)} times, not once")
        path.write_text(text.replace(self.old, self.new), "utf-8")


def faults(rooms: list[str]) -> Iterator[Fault]:
    """Every fault of these rooms, of all rooms where none is named."""
    for file in sorted(FAULTS.glob("*.toml")):
        if not rooms or file.stem in rooms:
            for row in tomllib.loads(file.read_text("utf-8"))["fault"]:
                yield Fault(room=file.stem, **row)


def found_by(fault: Fault) -> str:
    """The test that finds it, empty if none does."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "project"
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
        fault.plant(tree)
        own = [str(file.relative_to(ROOT)) for file in ROOT.glob(TESTS.format(fault.room))]
        return _failure(tree, own) or _failure(tree, ["tests/ui", *map("--ignore={}".format, own)])


def _failure(tree: Path, tests: list[str]) -> str:
    """The first test that fails."""
    quick = ["-q", "-x", "-n", "0", "-m", "not browser", "--durations=0", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *quick, *tests]
    settings = os.environ | {"OMP_NUM_THREADS": "1"}
    try:
        run = subprocess.run(
            command, cwd=tree, env=settings, capture_output=True, text=True,
            timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "a test that did not end"
    failed = [
        line for line in run.stdout.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))
    ]
    return failed[0].split(" ")[1] if failed else "" if run.returncode == 0 else run.stdout[-200:]


def main() -> None:
    """Try them, and say how many are found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", help="of these alone")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    planted = list(faults(given.rooms))
    found = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for fault, test in zip(planted, pool.map(found_by, planted), strict=True):
            found += bool(test)
            print(
                f"{'found ' if test else 'MISSED'} {fault.file}: {fault.kind}  {test}", flush=True
            )
    print(f"{found} of {len(planted)} faults found")
    sys.exit(found < len(planted))


if __name__ == "__main__":
    main()
