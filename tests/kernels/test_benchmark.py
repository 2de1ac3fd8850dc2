"""benchmarks/gpu.py where no GPU is: tried out in the interpreter, or a clear word."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "benchmarks/gpu.py"]


def test_it_runs_dry_and_writes_what_it_saw(tmp_path):
    done = subprocess.run(
        [*COMMAND, "--dry", "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "gpu_cpu.json").read_text("utf-8"))
    assert set(written["about"]) >= {"device", "date", "torch", "copy_bytes_per_second"}
    rows = {(row["context"], row["side"]): row for row in written["rows"]}
    for context in ("uneven", "40, top 16"):
        for side in ("ours", "torch"):
            assert rows[context, side]["apart"] < 5e-3
            assert rows[context, side]["ms"] > 0
        assert rows[context, "flashinfer"]["refused"].endswith("flashinfer is not installed")
    assert "| 3 | 2 x uneven | ours |" in done.stdout


def test_without_a_gpu_it_says_so():
    hidden = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(COMMAND, cwd=ROOT, env=hidden, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no CUDA device here" in done.stdout
    assert not done.stderr
