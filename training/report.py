"""The results of finished runs: a row of the study each, and of the models shown the weights."""

import itertools
import json
import platform
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch

from mla_engine import costs
from mla_engine.language_model import LanguageModel, save_model
from mla_engine.language_model.accuracy import accuracies, answers, exercises
from mla_engine.language_model.sparse import curves
from mla_engine.language_model.texts import TASKS
from training.indexer import of_indexer
from training.plan import CACHES, DENSE, INDEXED, STAIRCASE, VARIANTS, Run
from training.run import Progress, finished, snapshot

COMMAND = "make train"
TEXTS, SEED = 200, 10**6
"""Fresh texts a task and load behind a model's card, and their seed."""
SHIPPED = torch.float16
BIN = 8
"""Words by which a recall's distance may differ within a bin."""
KEPT = 27
"""Places along a training at which a snapshot is looked for; some 20 of them differ."""


@dataclass(frozen=True)
class Folders:
    """The paths of what is in progress, and of what the app shows."""

    progress: Path = Path("build/training")
    assets: Path = Path("assets/trained")

    def row(self, run: Run) -> Path:
        """Return the path of the row of a run: if it exists, the run is done."""
        return self.assets / "study" / f"{run.name}.json"

    def weights(self, code: str) -> Path:
        """Return the path of the weights of a variant that the app shows."""
        return self.assets / f"{code}.safetensors"


def keep_plan(folders: Folders) -> None:
    """Write what is to be run, so that the app can tell what was not."""
    variants = {
        code: {"cached": variant.cached, "seeds": variant.seeds}
        for code, variant in VARIANTS.items()
    }
    plan = {"variants": variants, "caches": CACHES, "staircase": STAIRCASE}
    folders.assets.mkdir(parents=True, exist_ok=True)
    (folders.assets / "plan.json").write_text(json.dumps(plan, indent=1) + "\n", "utf-8")


def keep(
    run: Run, model: LanguageModel, progress: Progress, folders: Folders, seconds: float
) -> None:
    """Write the row of a finished run, and its weights where the app shows the model."""
    card = _card(run.variant.code, run.seed, model, progress.step, seconds)
    card |= {"attempts": progress.attempt + 1, "finished": finished(progress)}
    first = run.seed == 0
    if run.variant.shipped and first:
        ship(model, card, folders)
    if run.variant.watched and first:
        target = folders.assets / "snapshots" / run.variant.code
        target.mkdir(parents=True, exist_ok=True)
        for step in chosen(progress.curve):
            shutil.copy(folders.progress / run.name / snapshot(step), target / snapshot(step))
    row = card | {"curve": progress.curve, "by_distance": by_distance(model)}
    file = folders.row(run)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(row) + "\n", "utf-8")


def keep_indexed(model: LanguageModel, steps: int, folders: Folders, seconds: float) -> None:
    """Write the model that got indexers; it is no run of the study."""
    learned = sum(weight.numel() for name, weight in model.named_parameters() if of_indexer(name))
    card = _card(INDEXED, 0, model, steps, seconds)
    ship(model, card | {"before": DENSE, "learned": learned, "answers": curves(model)}, folders)


def ship(model: LanguageModel, card: dict[str, Any], folders: Folders) -> None:
    """Write the weights of a model that the app shows."""
    folders.assets.mkdir(parents=True, exist_ok=True)
    save_model(model, folders.weights(card["variant"]), card, SHIPPED)


def _card(code: str, seed: int, model: LanguageModel, steps: int, seconds: float) -> dict[str, Any]:
    """Return the card of a model: what it is, what it answers, and how it was made."""
    return {
        "variant": code,
        "seed": seed,
        "cached": costs.cache_elements(model.config.attention),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "steps": steps,
        "accuracy": accuracies(model, TEXTS, SEED),
        "texts": TEXTS,
        "command": COMMAND,
        "seconds": round(seconds, 1),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }


def by_distance(model: LanguageModel) -> list[list[float]]:
    """Return recall by how far back the pair stood, over all loads: [from, answers, share]."""
    found = [
        answers(model, exercises("recall", load, TEXTS, SEED)) for load in TASKS["recall"].loads
    ]
    distance = torch.cat([one.distance for one in found])
    given = torch.cat([one.given for one in found])
    bins = []
    for first in range(0, int(distance.max()) + 1, BIN):
        inside = (distance >= first) & (distance < first + BIN)
        if inside.any():
            bins.append([first, int(inside.sum()), given[inside].double().mean().item()])
    return bins


def chosen(curve: Iterable[dict[str, Any]], count: int = KEPT) -> list[int]:
    """Choose the steps to show of a training: dense where the loss falls, with first and last.

    The way along the curve, in steps and in loss, each as a share of all, is cut into equal parts.
    """
    points = [(point["step"], point["loss"]) for point in curve if point["loss"] is not None]
    losses = [points[0][1], *(loss for _, loss in points)]
    steps = [0, *(step for step, _ in points)]
    whole = sum(abs(b - a) for a, b in itertools.pairwise(losses)) or 1.0
    way = [0.0]
    for i in range(1, len(steps)):
        part = (steps[i] - steps[i - 1]) / (steps[-1] or 1) + abs(losses[i] - losses[i - 1]) / whole
        way.append(way[-1] + part)
    places = [way[-1] * k / (count - 1) for k in range(count)]
    nearest = {min(range(len(way)), key=lambda i: abs(way[i] - place)) for place in places}
    return [steps[i] for i in sorted(nearest)]


def line(progress: Progress) -> str:
    """Return the last measurement in a line: the loss, and each task at its lightest load."""
    last = progress.curve[-1]
    shares = [f"{name} {last['accuracy'][name][TASKS[name].loads[0]]:.0%}" for name in TASKS]
    return ", ".join([*([] if last["loss"] is None else [f"loss {last['loss']:.2f}"]), *shares])
