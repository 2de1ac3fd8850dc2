"""Which test files run when, by their paths: tests/tiers.toml read.

python -m tests.tiers check          the files of `make check`
python -m tests.tiers test           the files of `make test`, those of check among them
python -m tests.tiers browser        the files of a part of `make test-all`
python -m tests.tiers touched BASE   the parts that the changes since a commit call for
"""

import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).parent
TABLE = tomllib.loads((TESTS / "tiers.toml").read_text("utf-8"))
TIERS: dict[str, list[str]] = {"check": TABLE["check"], "test": TABLE["test"], **TABLE["parts"]}


def every_file() -> list[str]:
    """Every test file, by its path below tests/."""
    return sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))


def tiers_of(file: str) -> list[str]:
    """The tiers that list a file: by name where one does, else by its folder."""
    named = [tier for tier, lines in TIERS.items() if file in lines]
    folder, _, _ = file.rpartition("/")
    return named or [tier for tier, lines in TIERS.items() if f"{folder}/*" in lines]


def files_of(tier: str) -> list[str]:
    """The files of a tier, as arguments for pytest."""
    if tier == "sweeps":
        found = [file for file in every_file() if "tests.sampling" in (TESTS / file).read_text()]
    else:
        also = {"test": {"check", "test"}}.get(tier, {tier})
        found = [file for file in every_file() if also & set(tiers_of(file))]
    return [f"tests/{file}" for file in found]


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


def main(asked: str, base: str = "HEAD~1") -> None:
    if asked == "touched":
        command = ["git", "diff", "--name-only", base]
        changed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(*touched(changed.splitlines()))
    else:
        print(*files_of(asked))


if __name__ == "__main__":
    main(*sys.argv[1:])
