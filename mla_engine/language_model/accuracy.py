"""The share of determined answers that a model gives, by task and by load."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor

from mla_engine.language_model.model import LanguageModel, ModelTrace
from mla_engine.language_model.texts import TASKS, Text, exercise

__all__ = ["Answers", "Batch", "accuracies", "answers", "batch", "by_task", "exercises", "run_of"]


class Batch(NamedTuple):
    """Texts as numbers, [b,t] each; short ones end with words that nothing asks for."""

    tokens: Tensor
    determined: Tensor
    distance: Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """The determined words of some texts: whether each was given, and how far back it stood."""

    given: Tensor  # bool [n]
    distance: Tensor  # int64 [n]

    @property
    def share(self) -> float:
        """The share of right answers."""
        return self.given.double().mean().item()


def batch(texts: Sequence[Text], words: Sequence[str]) -> Batch:
    """Return the texts as the numbers of their words."""
    places, longest = {word: place for place, word in enumerate(words)}, max(map(len, texts))
    sizes = len(texts), longest
    tokens, distance = torch.zeros(sizes, dtype=torch.int64), torch.zeros(sizes, dtype=torch.int64)
    determined = torch.zeros(sizes, dtype=torch.bool)
    for row, text in enumerate(texts):
        tokens[row, : len(text)] = torch.tensor([places[one.word] for one in text])
        determined[row, : len(text)] = torch.tensor([one.determined for one in text])
        distance[row, : len(text)] = torch.tensor([one.distance for one in text])
    return Batch(tokens, determined, distance)


def exercises(task: str, load: int, count: int, seed: int) -> list[Text]:
    """Return fresh texts of one task and load.

    Raises:
        ValueError: a task or a load that there is not.
    """
    return [exercise(Random(f"{seed}/{task}/{load}/{i}"), task, load) for i in range(count)]


def run_of(model: LanguageModel, texts: Sequence[Text]) -> tuple[ModelTrace, Tensor]:
    """Run texts and return the trace, and where they have words: bool [b,t]."""
    length = torch.tensor([len(text) for text in texts])
    words = torch.arange(length.max()) < length[:, None]
    return model(batch(texts, model.config.words).tokens), words


@torch.no_grad()
def answers(model: LanguageModel, texts: Sequence[Text]) -> Answers:
    """Return the answers of a model where the texts ask for something further back.

    The word that ends a segment is determined too, but is no answer: its distance is 0.
    """
    right, asked, distance = _asked(model, texts)
    return Answers(given=right[asked], distance=distance[asked])


def _asked(model: LanguageModel, texts: Sequence[Text]) -> tuple[Tensor, Tensor, Tensor]:
    """Return for every word but the first: if it was the likeliest, if an answer, how far back."""
    tokens, determined, distance = batch(texts, model.config.words)
    likeliest = model.logits(tokens[:, :-1]).argmax(-1)
    asked = determined[:, 1:] & (distance[:, 1:] > 0)
    return likeliest == tokens[:, 1:], asked, distance[:, 1:]


def accuracies(model: LanguageModel, count: int, seed: int) -> dict[str, dict[int, float]]:
    """Return task -> load -> the share of right answers in `count` fresh texts."""
    return {
        task.name: {
            load: answers(model, exercises(task.name, load, count, seed)).share
            for load in task.loads
        }
        for task in TASKS.values()
    }


@torch.no_grad()
def by_task(model: LanguageModel, count: int, seed: int) -> dict[str, float]:
    """Return task -> the share of right answers, the mean over its loads, all in one run.

    So it takes a fifth of the time of `accuracies`, and the memory of all texts at once.
    """
    places = [(task.name, load) for task in TASKS.values() for load in task.loads]
    texts = [text for task, load in places for text in exercises(task, load, count, seed)]
    right, asked, _ = _asked(model, texts)
    given = (right & asked).unflatten(0, (len(places), count)).sum((1, 2)).double()
    shares = given / asked.unflatten(0, (len(places), count)).sum((1, 2))
    found = dict(zip(places, shares.tolist(), strict=True))
    return {task.name: fmean(found[task.name, load] for load in task.loads)
            for task in TASKS.values()}  # fmt: skip
