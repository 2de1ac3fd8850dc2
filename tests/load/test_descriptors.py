"""Open files: the process takes as many as it may, and says where they are too few."""

import subprocess
import sys

from ui import ROOT

PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, tuple(map(int, sys.argv[1:])))
from ui.server import start
start.check()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def started(soft: int, hard: int, most_visitors: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", PROGRAM, str(soft), str(hard)]
    environment = {"MLA_MOST_VISITORS": most_visitors, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment)


def test_the_limit_is_raised_to_what_is_allowed():
    done = started(128, 2000, "300")
    assert done.stdout == "(2000, 2000)\n"
    assert "open files" not in done.stderr


def test_a_limit_below_what_the_visitors_need_is_told():
    done = started(128, 1024, "1000")
    assert done.stdout == "(1024, 1024)\n"
    assert "1000 visitors need 4200 open files, and the limit is 1024" in done.stderr
