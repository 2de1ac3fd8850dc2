"""A question of the quiz, and how its answers are mixed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

from kvcount.refusals import RefusedError
from mla_engine.claims.claim import Figure

MOST_CHOICES = 4
NEAR = 0.03  # two amounts that differ by less would read alike


@dataclass(frozen=True)
class Choice:
    """An answer to choose: an amount, or a word of a fixed vocabulary, and how one comes to it."""

    value: float | int | str
    because: str = ""


@dataclass(frozen=True, eq=False)
class Question:
    """A question whose answer was computed.

    Attributes:
        kind: which of KINDS asked it.
        choices: what can be answered; one of them is right.
        answer: the place of the right one.
        facts: the numbers and names that question and explanation contain.
        unit: of the choices' amounts; "word" if they are words, "map" if they are pictures.
        preset: the published model that it is about, if any.
        maps: attention [t,s] of each choice that is a picture.
        tokens: what the maps' rows and columns are, [t].
        case: which of the kind's explanations is true here, where it has several.
    """

    kind: str
    choices: tuple[Choice, ...]
    answer: int
    facts: tuple[Figure, ...] = ()
    unit: str = ""
    preset: str = ""
    maps: tuple[np.ndarray, ...] = ()
    tokens: tuple[str, ...] = ()
    case: str = ""

    def fact(self, name: str) -> float | int | str:
        """Return the fact of this name.

        Raises:
            KeyError: there is none.
        """
        return {figure.name: figure.value for figure in self.facts}[name]


Generator = Callable[[Random], Question]


def alike(a: float | int | str, b: float | int | str) -> bool:
    """Return whether two answers could not be told apart."""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return abs(a - b) <= NEAR * max(abs(a), abs(b))


def amounts(
    rng: Random, right: float, because: str, wrong: Mapping[str, float]
) -> dict[str, tuple[Choice, ...] | int]:
    """Return choices in rising order: the right amount and up to three wrong ones that differ.

    Args:
        rng: which of the wrong ones are taken.
        right: the computed amount.
        because: how it comes about, a word of the vocabulary.
        wrong: how one comes to it -> amount.

    Raises:
        ValueError: no wrong amount differs from the right one.
    """
    taken = [Choice(right, because)]
    for how in rng.sample(sorted(wrong), len(wrong)):
        if len(taken) < MOST_CHOICES and not any(alike(wrong[how], c.value) for c in taken):
            taken.append(Choice(wrong[how], how))
    if len(taken) < 2:
        raise RefusedError("all_right", right=right, wrong=dict(wrong))
    taken.sort(key=lambda choice: choice.value)
    values = [choice.value for choice in taken]
    return {"choices": tuple(taken), "answer": values.index(right)}


def words(options: tuple[str, ...], right: str) -> dict[str, tuple[Choice, ...] | int | str]:
    """Return choices out of a fixed list of words, in its order.

    Raises:
        ValueError: the right one is not among them.
    """
    choices = tuple(Choice(option) for option in options)
    return {"choices": choices, "answer": options.index(right), "unit": "word"}
