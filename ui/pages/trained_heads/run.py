"""The computations of the page, shared by all sessions."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mla_engine.config import AttentionConfig
from mla_engine.language_model import LanguageModel
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
from ui.pages.trained_heads.trained_models import Trained

ASKED, WATCHED = 6, 4  # texts of each load
SEED = 2 * 10**6  # of texts that no training has seen
LONGEST = 12  # words of an example: as many as a phone names
LOADS = {"agreement": 1, "brackets": 4}  # of an example; the lightest of the others


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


@shared_cache.cached
def loaded(model: Trained) -> LanguageModel:
    """The model itself."""
    with torch.inference_mode(False):  # it lives on outside of the run that asks first
        return model.load()


def attention(model: Trained) -> AttentionConfig:
    """The sizes and kind of its layers."""
    return loaded(model).config.attention


@shared_cache.cached
def questions(words: tuple[str, ...]) -> Questions:
    """The texts that every model with these words is asked."""
    return Questions.drawn(words, ASKED, SEED)


@shared_cache.cached(anywhere=True)
def whole(model: Trained) -> Uncut:
    """Return the scores of its heads, and its answers."""
    ours = loaded(model)
    asked = questions(ours.config.words)
    with queue.turn(), torch.inference_mode():
        return uncut(ours, asked)


def scores(model: Trained) -> HeadScores:
    """Return the scores of its heads."""
    return whole(model).scores


@shared_cache.cached(anywhere=True)
def induction(model: Trained) -> float:
    """The highest induction score of its heads."""
    ours = loaded(model)
    with queue.turn(), torch.inference_mode():
        return float(head_scores(ours, WATCHED, SEED, ("induction",)).table.max())


def broken(model: Trained, cut: Cut | None) -> dict[str, Change]:
    """Task -> the share of right answers before and after a cut, or none."""
    after = _after(model, cut) if cut else whole(model).right
    return {task: Change(share, after[task]) for task, share in whole(model).right.items()}


@shared_cache.cached(anywhere=True)
def _after(model: Trained, cut: Cut) -> dict[str, float]:
    """Task -> the share of right answers after a cut."""
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
def _directions(model: Trained) -> tuple[Tensor, ...]:
    """Return the directions of its latents, the strongest last."""
    ours = loaded(model)
    with queue.turn(), torch.inference_mode():
        return strongest_directions(ours)


@shared_cache.cached(anywhere=True)
def example(model: Trained, task: str) -> Example:
    """A short text of a task, and where every head looks."""
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
