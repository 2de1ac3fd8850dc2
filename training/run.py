"""One run: from first weights to the last, with a curve, snapshots, and a place to go on from."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mla_engine.language_model import LanguageModel, save_model
from mla_engine.language_model.accuracy import Batch, accuracies, batch
from mla_engine.language_model.texts import WORDS, first_practice, practice
from training.plan import Run, model_config

STEPS, INTERVAL, WARM_UP = 1800, 50, 100
"""Steps at most, between two measurements, and until the learning rate is reached."""
TEXTS = 64
AFTER = 100  # from the seed of a beginning to that of the next
FOUND, FIRST_STEPS, ATTEMPTS = 0.7, 600, 4
"""Recall alone comes first, until its loss is below, or for so many steps at most: beside tasks
that are learned sooner it takes thousands. Of three beginnings one does not find it; another one,
with other first weights and texts, is then made, and counted."""
AWAKE, QUIET = 3.0, 0.3
"""First weights of the embedding, and of what is added to it, over the layers' own: a layer that
drowns the words it reads hides from the next one which word stood before."""
RATE, LEAST_RATE, DECAY, LARGEST_GRADIENT = 3e-3, 0.05, 0.05, 1.0
ASIDE = 0.05
"""Weight of what is not determined in the loss."""
ENOUGH = 0.99
"""Share of right answers at every load of every task at which a run ends early."""
MEASURED = 40
"""Fresh texts a task and load in each measurement."""
SNAPSHOTS = torch.float16


@dataclass
class Progress:
    """The state of a run: all that is needed to go on."""

    step: int = 0
    attempt: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    state: dict[str, Any] | None = None  # of the weights and the optimizer


def train(
    run: Run, folder: Path, steps: int = STEPS, tell: Callable[[Progress], object] = lambda _: None
) -> tuple[LanguageModel, Progress]:
    """Train until every answer is right or `steps` are done; what was begun is gone on with.

    Args:
        run: the variant and the seed.
        folder: of this run; it gets `progress.pt`, and snapshots of the weights.
        steps: at most.
        tell: called after every measurement.
    """
    folder.mkdir(parents=True, exist_ok=True)
    progress = resumed(folder)
    model = begun(run, progress.attempt)
    optimizer = _optimizer(model)
    if progress.state:
        model.load_state_dict(progress.state["model"])
        optimizer.load_state_dict(progress.state["optimizer"])
    losses: list[float] = []
    while True:
        if progress.step % INTERVAL == 0 and not _measured(progress):
            _measure(run, model, progress, losses, folder)
            progress.state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            _write(progress, folder)
            losses = []
            tell(progress)
        if progress.step >= steps or finished(progress):
            return model.requires_grad_(False), progress
        if is_lost(progress):
            progress = Progress(attempt=progress.attempt + 1)
            model = begun(run, progress.attempt)
            optimizer = _optimizer(model)
            continue
        first, seed = looks_for_recall(progress), run.seed + AFTER * progress.attempt
        texts = texts_of(seed, progress.step, first)
        losses.append(_step(model, optimizer, texts, rate(progress.step, steps)))
        progress.step += 1


@torch.no_grad()
def begun(run: Run, attempt: int = 0) -> LanguageModel:
    """Return the model of a run before its first step."""
    model = LanguageModel(model_config(run.variant), seed=run.seed + AFTER * attempt)
    model.W_E *= AWAKE
    for block in model.blocks:
        block.attention.W_O *= QUIET
        block.W_down *= QUIET
    return model.requires_grad_(True)


def resumed(folder: Path) -> Progress:
    """Load the state of the run in this folder."""
    file = folder / "progress.pt"
    return Progress(**torch.load(file)) if file.exists() else Progress()


def finished(progress: Progress) -> bool:
    """Return True if every task is answered at every load."""
    if not progress.curve:
        return False
    found = progress.curve[-1]["accuracy"]
    return min(share for loads in found.values() for share in loads.values()) >= ENOUGH


def looks_for_recall(progress: Progress) -> bool:
    """Return True if the next texts hold recall only."""
    losses = [point["loss"] for point in progress.curve if point["loss"] is not None]
    return progress.step < FIRST_STEPS and min(losses, default=FOUND) >= FOUND


def is_lost(progress: Progress) -> bool:
    """Return True if recall was not found and another start may find it."""
    losses = [point["loss"] for point in progress.curve if point["loss"] is not None]
    over = progress.step == FIRST_STEPS and min(losses) >= FOUND
    return over and progress.attempt < ATTEMPTS - 1


def texts_of(seed: int, step: int, first: bool = False) -> Batch:
    """Return the texts of one step: the same ones whenever it is taken."""
    write = first_practice if first else practice
    texts = [write(Random(f"{seed}/{step}/{i}")) for i in range(TEXTS)]
    return batch(texts, WORDS)


def loss(model: LanguageModel, texts: Batch) -> Tensor:
    """Return the cross-entropy of the words that are determined, and a little of all others."""
    logits = model.logits(texts.tokens[:, :-1])
    each = cross_entropy(logits.transpose(1, 2), texts.tokens[:, 1:], reduction="none")
    weight = torch.where(texts.determined[:, 1:], 1.0, ASIDE)
    return (each * weight).sum() / weight.sum()


def rate(step: int, steps: int) -> float:
    """Share of the learning rate: up over the first steps, then down along a cosine."""
    falling = LEAST_RATE + (1 - LEAST_RATE) * (1 + math.cos(math.pi * step / steps)) / 2
    return min(1.0, (step + 1) / WARM_UP) * falling


def snapshot(step: int) -> str:
    """Return the file of the weights at a step."""
    return f"{step:05}.safetensors"


def _optimizer(model: LanguageModel) -> torch.optim.Optimizer:
    matrices = [weight for weight in model.parameters() if weight.ndim > 1]
    norms = [weight for weight in model.parameters() if weight.ndim == 1]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": norms, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98))


def _step(
    model: LanguageModel, optimizer: torch.optim.Optimizer, texts: Batch, share: float
) -> float:
    for group in optimizer.param_groups:
        group["lr"] = RATE * share
    optimizer.zero_grad()
    value = loss(model, texts)
    value.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
    optimizer.step()
    return value.item()


def _measured(progress: Progress) -> bool:
    return bool(progress.curve) and progress.curve[-1]["step"] == progress.step


def _measure(
    run: Run, model: LanguageModel, progress: Progress, losses: list[float], folder: Path
) -> None:
    found = accuracies(model, MEASURED, seed=-1 - progress.step)
    mean = sum(losses) / len(losses) if losses else None
    progress.curve.append({"step": progress.step, "loss": mean, "accuracy": found})
    if run.variant.watched and run.seed == 0:
        path = folder / snapshot(progress.step)
        save_model(model, path, {"step": progress.step, "loss": mean}, SNAPSHOTS)


def _write(progress: Progress, folder: Path) -> None:
    unfinished = folder / "progress.part"
    torch.save(vars(progress), unfinished)
    unfinished.replace(folder / "progress.pt")
