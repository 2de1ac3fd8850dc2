"""The trained models that there are, and what is computed of them for all sessions."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mla_engine.config import AttentionConfig
from mla_engine.language_model import LanguageModel, load_model
from mla_engine.language_model.accuracy import batch, exercises
from mla_engine.language_model.cuts import (
    Change,
    TopKeys,
    strongest_directions,
    within,
    without_content,
    without_rotary_key,
)
from mla_engine.language_model.heads import HeadScores, Places, binding, deciding, head_scores
from mla_engine.language_model.questions import Questions, Uncut, right, uncut, without
from mla_engine.language_model.texts import TASKS, Text
from ui.engine import queue, shared_cache
from ui.sources import trained

FOLDER = trained.FOLDER
VARIANTS = ("mla", "mla_nope", "mha", "gqa", "mqa")
FINISHED = -1  # the step of a model whose training is over
ASKED, WATCHED = 6, 4  # texts of each load
SEED = 2 * 10**6  # of texts that no training has seen
LONGEST = 12  # words of an example: as many as a phone names
LOADS = {"agreement": 1, "brackets": 4}  # of an example; the lightest of the others


@dataclass(frozen=True)
class ModelFile:
    """A file, and when it was written, so that what is cached of it goes with its content."""

    path: str
    written: int


@dataclass(frozen=True)
class Cut:
    """A part that is taken away; of layer, heads, rank and keys the kind uses its own."""

    kind: str
    layer: int = 0
    heads: tuple[int, ...] = ()
    rank: int = 1
    keys: int = 1


@dataclass(frozen=True, eq=False)
class Example:
    """A text and the maps of all heads on it, layers x heads x t x s.

    Args:
        asked: query and key of each look that an answer needs.
        bound: of each look that binds a pair, in a text of pairs.
    """

    words: tuple[str, ...]
    maps: np.ndarray
    mask: np.ndarray
    asked: tuple[tuple[int, int], ...]
    bound: tuple[tuple[int, int], ...]


def variants() -> tuple[str, ...]:
    """Return the variants whose models are there."""
    return tuple(code for code in VARIANTS if _finished(code).is_file())


def steps(variant: str) -> list[int]:
    """Return the steps of the training that have a snapshot, none if it was not watched."""
    return sorted(_snapshots(variant))


def of_step(variant: str, step: int) -> ModelFile:
    """Return the snapshot of a step; the finished model where there is none."""
    file = _snapshots(variant).get(step, _finished(variant))
    return ModelFile(str(file), file.stat().st_mtime_ns)


def losses(variant: str) -> dict[int, float]:
    """Return step -> the loss of the training's first run, as far as it was measured."""
    file = FOLDER / "study" / f"{variant}-0.json"
    if not file.is_file():
        return {}
    curve = json.loads(file.read_text("utf-8"))["curve"]
    return {point["step"]: point["loss"] for point in curve if point["loss"] is not None}


def _snapshots(variant: str) -> dict[int, Path]:
    found = (FOLDER / "snapshots" / variant).glob("*.safetensors")
    return {int(file.stem): file for file in found if file.stem.isdigit()}


def _finished(variant: str) -> Path:
    return FOLDER / f"{variant}.safetensors"


@shared_cache.cached
def loaded(model: ModelFile) -> LanguageModel:
    """Return the model of a file.

    Raises:
        CheckpointError: a file that is none.
    """
    with torch.inference_mode(False):  # it lives on outside of the run that asks first
        return load_model(model.path)[0]


def attention(model: ModelFile) -> AttentionConfig:
    """Return the sizes and kind of its layers."""
    return loaded(model).config.attention


@shared_cache.cached
def questions(words: tuple[str, ...]) -> Questions:
    """Return the texts that every model with these words is asked."""
    return Questions.drawn(words, ASKED, SEED)


@shared_cache.cached(anywhere=True)
def whole(model: ModelFile) -> Uncut:
    """Return the scores of its heads, and its answers."""
    ours = loaded(model)
    asked = questions(ours.config.words)
    with queue.turn(), torch.inference_mode():
        return uncut(ours, asked)


def scores(model: ModelFile) -> HeadScores:
    """Return the scores of its heads."""
    return whole(model).scores


@shared_cache.cached(anywhere=True)
def induction(model: ModelFile) -> float:
    """Return the highest induction score of its heads."""
    ours = loaded(model)
    with queue.turn(), torch.inference_mode():
        return float(head_scores(ours, WATCHED, SEED, ("induction",)).table.max())


def broken(model: ModelFile, cut: Cut | None) -> dict[str, Change]:
    """Return task -> the share of right answers before and after a cut, or none."""
    after = _after(model, cut) if cut else whole(model).right
    return {task: Change(share, after[task]) for task, share in whole(model).right.items()}


@shared_cache.cached(anywhere=True)
def _after(model: ModelFile, cut: Cut) -> dict[str, float]:
    """Return task -> the share of right answers after a cut."""
    ours, before = loaded(model), whole(model)
    asked = questions(ours.config.words)
    directions = _directions(model) if cut.kind == "rank" else ()
    with queue.turn(), torch.inference_mode():
        if cut.heads:
            return without(ours, asked, before, cut.layer, cut.heads)
        changed = {
            "content": lambda: without_content(ours),
            "rotary": lambda: without_rotary_key(ours),
            "rank": lambda: within(ours, directions, cut.rank),
            "keys": lambda: TopKeys(ours, cut.keys),
        }[cut.kind]()
        return right(changed, asked)


@shared_cache.cached(anywhere=True)
def _directions(model: ModelFile) -> tuple[Tensor, ...]:
    """Return the directions of its latents, the strongest last."""
    ours = loaded(model)
    with queue.turn(), torch.inference_mode():
        return strongest_directions(ours)


@shared_cache.cached(anywhere=True)
def example(model: ModelFile, task: str) -> Example:
    """Return a short text of a task, and where every head looks."""
    text = _short(exercises(task, LOADS.get(task, TASKS[task].loads[0]), 1, SEED)[0])
    ours = loaded(model)
    with queue.turn(), torch.inference_mode():
        blocks = ours(batch([text], ours.config.words).tokens).blocks
    return Example(
        words=tuple(one.word for one in text),
        maps=np.stack([block.attention.attention[0].numpy() for block in blocks]),
        mask=blocks[0].attention.mask.numpy(),
        asked=_looks(deciding([text])),
        bound=_looks(binding([text])),
    )


def _looks(places: Places) -> tuple[tuple[int, int], ...]:
    return tuple(zip(places.query.tolist(), places.key.tolist(), strict=True))


def _short(text: Text) -> Text:
    ends = [place + 1 for place, one in enumerate(text) if one.word == "."]
    return text[: min([*ends, LONGEST])]
