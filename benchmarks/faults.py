"""Plants one-line faults, each in a copy of the project, and tells which tests of `make test` find.

    python benchmarks/faults.py                        every fault of tests/faults
    python benchmarks/faults.py rope engine_latent     those of some lists
    python benchmarks/faults.py --drawn 40             some of all, drawn with a seed that it says
    python benchmarks/faults.py --drawn 150 --seed 28 --out benchmarks/results/faults.json

A list, or a fault of it, names the tests that should find it: `tests = [...]`, patterns below
tests/; a list that is called as a room has the room's. These run first, then, where they pass, all
others of `make test` in their folders and in the one for the code. A fault is found when one fails.
At the end all tests that found one run without a fault: one that fails there, too, has found
nothing. With --out what is known is written after each fault; called again so, it goes on from
there. It ends with 0 where at least 97 of 100 are found.
"""

import argparse
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.tiers import files_of, in_project  # noqa: E402 - found by the path

FAULTS = ROOT / "tests/faults"
OF_ROOM = ("ui/pages/test_{}*.py", "ui/pages/{}/test_*.py")
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "models", "build")
LEAST_FOUND = 0.97
PATIENCE_SECONDS = 900  # without a test that ends: one that hangs has found the fault too
HANGS = "a test that does not end"
BROKEN = 2, 3, 4  # how pytest ends where a fault keeps it from running any test


@dataclass(frozen=True)
class Fault:
    """One line of `file` in which `old` becomes `new`; `tests` are patterns of those to run first.

    `room` is the list that it stands in.
    """

    room: str
    file: str
    kind: str
    old: str
    new: str
    tests: tuple[str, ...]

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

    def lift(self, tree: Path) -> None:
        """Put the file back as it is in the project."""
        shutil.copy(ROOT / self.file, tree / self.file)

    @property
    def named(self) -> list[str]:
        """The files of `make test` that its patterns name, in their order."""
        found = (
            path.relative_to(ROOT).as_posix()
            for pattern in self.tests
            for path in sorted(ROOT.glob(in_project(pattern)))
        )
        return [file for file in dict.fromkeys(found) if file in of_make_test()]

    @property
    def others(self) -> list[str]:
        """All others of `make test` in the same folders of tests/, those beside the code first."""
        named, own = self.named, _area_of_code(self.file)
        areas = {own, *map(_area, named)}
        others = [file for file in of_make_test() if file not in named and _area(file) in areas]
        return sorted(others, key=lambda file: _area(file) != own)


@cache
def of_make_test() -> list[str]:
    """The files of `make test`."""
    return files_of("test")


def _area(file: str) -> str:
    """The part of the project that a test file is for."""
    first, second, *_ = file.split("/")
    return second if first == "tests" else first


def _area_of_code(file: str) -> str:
    """The folder of tests/ for the part of the engine that a file stands in, or for the app."""
    package, *inner = Path(file).parts
    if package == "mla_engine":
        return inner[0] if (ROOT / "tests" / inner[0]).is_dir() else "engine"
    return package if package == "kvcount" else "ui"


@dataclass(frozen=True)
class Found:
    """The fate of a fault: the first test that failed, empty if none did."""

    by: str
    seconds: float  # of the processor


def faults(rooms: Iterable[str] = ()) -> list[Fault]:
    """Every fault of these lists, of all lists where none is named."""
    rooms, found = set(rooms), []
    for file in sorted(FAULTS.glob("*.toml")):
        if rooms and file.stem not in rooms:
            continue
        table = tomllib.loads(file.read_text("utf-8"))
        usual = table.get("tests", [pattern.format(file.stem) for pattern in OF_ROOM])
        for row in table["fault"]:
            tests = tuple(row.get("tests", usual))
            found.append(Fault(**{"room": file.stem} | row | {"tests": tests}))
    return found


class Trees:
    """Copies of the project, as many as jobs; each is lent to one fault at a time."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            shutil.copytree(ROOT, folder / str(number), ignore=LEFT_OUT)
            self._free.put(folder / str(number))

    @contextmanager
    def one(self) -> Iterator[Path]:
        """One that nobody else has."""
        tree = self._free.get()
        try:
            yield tree
        finally:
            self._free.put(tree)

    def look_for(self, fault: Fault, *, named_alone: bool) -> Found:
        """Plant a fault and run the tests that it names, then the others."""
        with self.one() as tree:
            fault.plant(tree)
            try:
                by, seconds = first_failure(tree, fault.named)
                if not (by or named_alone):
                    by, more = first_failure(tree, fault.others)
                    seconds += more
            finally:
                fault.lift(tree)
        return Found(by, round(seconds, 1))

    def red(self, tests: Iterable[str]) -> set[str]:
        """Those of some tests that fail without any fault."""
        tests = sorted({test for test in tests if "::" in test})
        if not tests:
            return set()
        with self.one() as tree:
            return set(_failed(_run(tree, tests)[1])) & set(tests)


def first_failure(tree: Path, tests: list[str]) -> tuple[str, float]:
    """The first of these tests that fails, empty if none does, and the processor's seconds.

    Raises:
        RuntimeError: no test was run.
    """
    if not tests:
        return "", 0.0
    status, said, seconds = _run(tree, [*tests, "-x"])
    if status == -signal.SIGKILL:
        return HANGS, seconds
    if failed := _failed(said):
        return failed[0], seconds
    if status in BROKEN:
        return f"nothing runs: {said.strip().splitlines()[-1]}", seconds
    if status:
        raise RuntimeError(f"pytest ended with {status}: {said[-500:]}")
    return "", seconds


def _run(tree: Path, tests: list[str]) -> tuple[int, str, float]:
    """Run pytest; return how it ended, what it said, and the seconds that the processor spent."""
    quick = ["-q", "-n", "0", "-m", "not browser", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *quick, *tests]
    settings = {name: text for name, text in os.environ.items() if name != "MLA_TESTS"}
    run = subprocess.Popen(
        command, cwd=tree, env=settings | {"OMP_NUM_THREADS": "1"}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    said = b""
    with run.stdout as out:
        while select.select([out], [], [], PATIENCE_SECONDS)[0]:
            if not (part := os.read(out.fileno(), 2**16)):
                break
            said += part
        else:
            os.killpg(run.pid, signal.SIGKILL)
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    return run.returncode, said.decode(errors="replace"), usage.ru_utime + usage.ru_stime


def _failed(said: str) -> list[str]:
    lines = (line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return [line.partition(" ")[2].partition(" - ")[0] for line in lines]


class Results:
    """The results for each fault, kept in a file where one is given: one line a fault."""

    def __init__(self, file: Path | None, about: Mapping[str, object]) -> None:
        self.file, self.about, self._lock = file, dict(about), Lock()
        self._rows: dict[Fault, Found] = {}
        if file is not None and file.exists():
            kept = json.loads(file.read_text("utf-8"))
            if all(kept.get(name) == value for name, value in self.about.items()):
                for row in kept["faults"]:
                    found = Found(row.pop("by"), row.pop("seconds"))
                    self._rows[Fault(**row | {"tests": tuple(row["tests"])})] = found

    def __contains__(self, fault: Fault) -> bool:
        return fault in self._rows

    def __getitem__(self, fault: Fault) -> Found:
        return self._rows[fault]

    def add(self, fault: Fault, found: Found) -> None:
        """Keep what was found, and say it."""
        with self._lock:
            self._rows[fault] = found
            word = "found " if found.by else "MISSED"
            print(f"{word} {fault.file}: {fault.kind}  {found.by}  {found.seconds} s", flush=True)
            self._write()

    def _write(self) -> None:
        if self.file is None:
            return
        by = [found.by for found in self._rows.values()]
        sums = {"found": sum(map(bool, by)), "tried": len(by)}
        rows = (
            json.dumps(asdict(fault) | asdict(found), ensure_ascii=False)
            for fault, found in self._rows.items()
        )
        head = json.dumps(self.about | sums, indent=1).removesuffix("\n}")
        text = head + ',\n "faults": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n"
        unfinished = self.file.with_suffix(".part")
        unfinished.write_text(text, "utf-8")
        unfinished.replace(self.file)


def commit() -> str:
    """The commit that is tried, empty in a copy without one."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def main() -> None:
    """Try them, and say how many are found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rooms", nargs="*", help="only of these lists")
    parser.add_argument("--drawn", type=int, help="so many of them, drawn at random")
    parser.add_argument("--seed", type=int, help="of the draw")
    parser.add_argument("--named", action="store_true", help="run only the tests that they name")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="keep the results in this file")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    planted, seed = faults(given.rooms), given.seed
    if given.drawn is not None:
        seed = random.randrange(10**6) if seed is None else seed
        print(f"drawn with --seed {seed}")
        planted = random.Random(seed).sample(planted, min(given.drawn, len(planted)))
    about = {"commit": commit(), "drawn": given.drawn, "seed": seed, "named_alone": given.named}
    results = Results(given.out, about)
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(given.jobs) as pool,
    ):
        trees = Trees(Path(folder), given.jobs)

        def try_(fault: Fault) -> None:
            results.add(fault, trees.look_for(fault, named_alone=given.named))

        try:
            for done in [pool.submit(try_, fault) for fault in planted if fault not in results]:
                done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # those that run end, no other begins
            raise
        red = trees.red(results[fault].by for fault in planted)
        for fault in planted:
            if results[fault].by in red:
                print(f"red without a fault: {results[fault].by}")
                results.add(fault, Found("", results[fault].seconds))
    found = sum(bool(results[fault].by) for fault in planted)
    spent = sum(results[fault].seconds for fault in planted)
    print(f"{found} of {len(planted)} faults found in {spent:.0f} seconds of the processor")
    sys.exit(found < LEAST_FOUND * len(planted))


if __name__ == "__main__":
    main()
