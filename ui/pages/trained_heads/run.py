"""What the page has the engine compute, shared by all sessions."""

from dataclasses import dataclass

import numpy as np
import torch

from mla_engine.config import AttentionConfig
from mla_engine.language_model import LanguageModel
from mla_engine.language_model.accuracy import batch, exercises
from mla_engine.language_model.cuts import (
    Change,
    TopKeys,
    effect,
    without_content,
    without_head,
    without_minor_directions,
    without_rotary_key,
)
from mla_engine.language_model.heads import HeadScores, deciding, head_scores
from mla_engine.language_model.texts import TASKS, Text
from ui.engine import kept, queue
from ui.pages.trained_heads.trained_models import Trained

SCORED, ANSWERED, WATCHED = 8, 16, 4  # texts of each load
SEED = 2 * 10**6  # of texts that no training has seen
LONGEST = 12  # words of an example: as many as a phone names
LOADS = {"agreement": 1, "brackets": 4}  # of an example; the lightest of the others


@dataclass(frozen=True)
class Cut:
    """What is taken away; of layer, head, rank and keys the kind uses its own."""

    kind: str
    layer: int = 0
    head: int = 0
    rank: int = 1
    keys: int = 1

    def of(self, model: LanguageModel) -> LanguageModel:
        """The model without it."""
        return {
            "head": lambda: without_head(model, self.layer, self.head),
            "content": lambda: without_content(model),
            "rotary": lambda: without_rotary_key(model),
            "rank": lambda: without_minor_directions(model, self.rank),
            "keys": lambda: TopKeys(model, self.keys),
        }[self.kind]()


@dataclass(frozen=True, eq=False)
class Example:
    """A text and the maps of all heads on it, layers x heads x t x s; where answers look."""

    words: tuple[str, ...]
    maps: np.ndarray
    mask: np.ndarray
    asked: tuple[tuple[int, int], ...]


@kept.keep
def attention(model: Trained) -> AttentionConfig:
    """The sizes and kind of its layers."""
    return model.load().config.attention


@kept.keep
def scores(model: Trained) -> HeadScores:
    """What its heads do."""
    with queue.turn(), torch.inference_mode():
        return head_scores(model.load(), SCORED, SEED)


@kept.keep
def induction(model: Trained) -> float:
    """The highest induction score of its heads."""
    with queue.turn(), torch.inference_mode():
        return float(head_scores(model.load(), WATCHED, SEED, ("induction",)).table.max())


@kept.keep
def broken(model: Trained, cut: Cut) -> dict[str, Change]:
    """Task -> the share of right answers before and after a cut."""
    with queue.turn(), torch.inference_mode():
        whole = model.load()
        return effect(whole, cut.of(whole), ANSWERED, SEED)


@kept.keep
def example(model: Trained, task: str) -> Example:
    """A short text of a task, and where every head looks."""
    text = _short(exercises(task, LOADS.get(task, TASKS[task].loads[0]), 1, SEED)[0])
    with queue.turn(), torch.inference_mode():
        whole = model.load()
        blocks = whole(batch([text], whole.config.words).tokens).blocks
    places = deciding([text])
    return Example(
        words=tuple(one.word for one in text),
        maps=np.stack([block.attention.attention[0].numpy() for block in blocks]),
        mask=blocks[0].attention.mask.numpy(),
        asked=tuple(zip(places.query.tolist(), places.key.tolist(), strict=True)),
    )


def _short(text: Text) -> Text:
    ends = [place + 1 for place, one in enumerate(text) if one.word == "."]
    return text[: min([*ends, LONGEST])]
