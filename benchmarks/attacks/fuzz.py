"""The fuzzers of tests/attacks, for longer and not the same way each time."""

import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.attacks.rows import Row, none
from tests.attacks.server import ROOT


def measure(count: int = 2_000) -> Iterator[Row]:
    """A row a fuzzer, with `count` examples of each of its properties."""
    for file in sorted((ROOT / "tests/attacks").glob("test_fuzz_*.py")):
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-x", str(file)]
        settings = os.environ | {"MLA_TESTS": "all", "FUZZ_EXAMPLES": str(count)}
        run = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
        if run.returncode:
            print(run.stdout[-5000:], flush=True)
        yield none("fuzz", f"faults: {file.stem}, {count} each", int(run.returncode != 0))
