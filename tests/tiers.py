"""The tier of each test file, by its path: tests/tiers.toml read.

python -m tests.tiers check      the files of `make check`
python -m tests.tiers test       the files of `make test`, those of check among them
python -m tests.tiers browser    the files of a part of `make test-all`
python -m tests.tiers left-out   one sentence on what `make test` does not run
"""

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).parent
OF_COUNTER = "kvcount/tests/"  # which go with the package, and stand in the table by this path
TABLE = tomllib.loads((TESTS / "tiers.toml").read_text("utf-8"))
TIERS: dict[str, list[str]] = {"check": TABLE["check"], "test": TABLE["test"], **TABLE["parts"]}


def every_file() -> list[str]:
    """Every test file, by its path below tests/, or below the project for the counter's own."""
    own = [f"{OF_COUNTER}{path.name}" for path in (TESTS.parent / OF_COUNTER).glob("test_*.py")]
    others = (path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))
    return sorted([*own, *others])


def in_project(file: str) -> str:
    """The path of a test file, or a pattern of some, below the project."""
    return file if file.startswith(OF_COUNTER) else f"tests/{file}"


def tiers_of(file: str) -> list[str]:
    """The tiers that list a file: by name where one does, else by its folder."""
    named = [tier for tier, lines in TIERS.items() if file in lines]
    folder, _, _ = file.rpartition("/")
    return named or [tier for tier, lines in TIERS.items() if f"{folder}/*" in lines]


def files_of(tier: str) -> list[str]:
    """The files of a tier, as arguments for pytest."""
    if tier == "sweeps":
        texts = {file: (TESTS.parent / in_project(file)).read_text() for file in every_file()}
        found = [file for file, text in texts.items() if "tests.sampling" in text]
    else:
        also = {"test": {"check", "test"}}.get(tier, {tier})
        found = [file for file in every_file() if also & set(tiers_of(file))]
    return [in_project(file) for file in found]


def of_rooms(changed: list[str]) -> list[str]:
    """The tests of the pages whose rooms these paths lie in, and those among the paths."""
    rooms = {path.split("/")[2] for path in changed if re.match(r"ui/pages/\w+/", path)}
    patterns = [f"ui/pages/test_{room}*.py" for room in rooms]
    patterns += [f"ui/pages/{room}/test_*.py" for room in rooms]
    found = {file for pattern in patterns for file in TESTS.glob(pattern)}
    named = {f"tests/{file.relative_to(TESTS).as_posix()}" for file in found} | {*changed}
    return sorted(named & {*files_of("test")})


def touched(changed: list[str]) -> list[str]:
    """The parts of `make test-all` that changes of these paths call for."""
    called = {
        part
        for path in changed
        for pattern, parts in TABLE["touches"].items()
        if fnmatch(path, pattern)
        for part in parts
    }
    return [part for part in TABLE["parts"] if part in called]


def changed_here() -> list[str]:
    """The paths that differ from the main branch of where this clone comes from."""
    differing = ["diff", "--name-only", "--diff-filter=d"]
    return _git(*differing, "origin/main", "--") or _git(*differing, "HEAD", "--") + _git(
        "ls-files", "--others", "--exclude-standard"
    )


def _git(*words: str) -> list[str]:
    """Return what git answers, line by line; nothing where it cannot."""
    command = ["git", "-C", str(TESTS.parent), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def left_out() -> str:
    """Say in one sentence what `make test` does not run."""
    parts = {part: len(files_of(part)) for part in TIERS if part not in ("check", "test")}
    counted = [f"{part} ({number} files)" for part, number in parts.items() if number]
    return f"Not run here, but by make test-all: {', '.join(counted)}, planted faults (faults)"


def main(asked: str) -> None:
    """Print what the Makefile asks for."""
    match asked:
        case "check":
            print(*dict.fromkeys(files_of("check") + of_rooms(changed_here())))
        case "left-out":
            print(left_out())
        case _:
            print(*files_of(asked))


if __name__ == "__main__":
    main(*sys.argv[1:])
