"""Questions out of the engine: sizes and text drawn by a seed, every answer computed.

A question says what it is about in codes and numbers; its words stand where it is shown.
"""

from random import Random

import torch

from kvcount import checks
from mla_engine.quiz import caches, forms, maps, successors, work
from mla_engine.quiz.question import Choice, Generator, Question

__all__ = ["KINDS", "Choice", "Question", "order", "question"]

# A set asks those that were added after those that were there, so that it still begins as it did.
GROUPS: tuple[tuple[Generator, ...], ...] = (
    (*caches.KINDS, *work.KINDS, *forms.KINDS, *maps.KINDS),
    *successors.ADDED,
)
KINDS: dict[str, Generator] = {ask.__name__: ask for group in GROUPS for ask in group}


def order(seed: int) -> tuple[str, ...]:
    """Return all kinds in the order in which the set of this seed asks them.

    Raises:
        ValueError: the seed is no whole number from 0.
    """
    checks.whole("seed", seed, least=0)
    rng = Random(f"{seed}")
    return tuple(ask.__name__ for group in GROUPS for ask in rng.sample(group, len(group)))


def question(seed: int, kind: str) -> Question:
    """Return the question of a kind in the set of a seed: the same on every machine.

    Raises:
        ValueError: an unknown kind, or a seed that is no whole number from 0.
    """
    checks.whole("seed", seed, least=0)
    checks.choice("kind", kind, tuple(KINDS))
    with torch.inference_mode():
        return KINDS[kind](Random(f"{seed}/{kind}"))
