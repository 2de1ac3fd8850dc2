"""The engine on Ray, tests/ui/on_ray.py: in a process that ends with Ray and all of its threads."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from ui import ROOT

COMMAND = "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests/ui/on_ray.py"


def test_all_that_is_asked_of_ray():
    assert find_spec("ray"), "Ray is missing: pip install -r requirements-ray.txt"
    done = subprocess.run([sys.executable, *COMMAND], cwd=ROOT, capture_output=True, text=True)
    if done.returncode or "skipped" in done.stdout:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
