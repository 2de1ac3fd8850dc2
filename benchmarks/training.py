"""Trains one small model from nothing, and compares it with the card of the one that is shipped.

    python benchmarks/training.py            mla-0, the model that the app opens on
    python benchmarks/training.py mha-0      another whose weights are shipped

What is asked for: on two cores at most ten minutes, and at every load of every task an accuracy
within two points of the card's. The model goes into a temporary folder; nothing here is changed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mla_engine.language_model import load_model  # noqa: E402 - found by the path

MINUTES, POINTS = 10, 2.0
Accuracy = Mapping[str, Mapping[str, float]]


def trained(run: str, folder: Path) -> tuple[Accuracy, float]:
    """The accuracies of a run that begins with nothing, and the seconds that it took."""
    places = ["--folder", str(folder / "progress"), "--assets", str(folder / "assets")]
    command = [sys.executable, "-m", "training", "--only", run, *places]
    begin = time.monotonic()
    subprocess.run(command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True)
    row = folder / "assets" / "study" / f"{run}.json"
    return json.loads(row.read_text("utf-8"))["accuracy"], time.monotonic() - begin


def carded(run: str) -> Accuracy:
    """The accuracies on the card of the shipped model."""
    variant, _, seed = run.rpartition("-")
    _, card = load_model(ROOT / "assets" / "trained" / f"{variant}.safetensors")
    if card["seed"] != int(seed):
        raise SystemExit(f"the shipped {variant} has the seed {card['seed']}")
    return card["accuracy"]


def compared(now: Accuracy, card: Accuracy) -> float:
    """Prints every accuracy beside the card's; the largest difference in points."""
    largest = 0.0
    for task, loads in card.items():
        for load, share in loads.items():
            here = now[task][load]
            points = 100 * (here - share)
            largest = max(largest, abs(points))
            print(f"{task:10} {load:>3}  card {share:7.2%}  now {here:7.2%}  {points:+.2f}")
    return largest


def main() -> None:
    """Train, compare, and end with 1 where it is too slow or too far off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", default="mla-0", help="a variant whose weights ship, -0")
    run = parser.parse_args().run
    card = carded(run)
    with tempfile.TemporaryDirectory() as folder:
        now, seconds = trained(run, Path(folder))
    largest = compared(now, card)
    print(f"{run}: {seconds:.0f} s on {os.cpu_count()} cores, off by at most {largest:.2f} points")
    sys.exit(seconds > 60 * MINUTES or largest > POINTS)


if __name__ == "__main__":
    main()
