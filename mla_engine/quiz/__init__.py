"""Questions out of the engine: sizes and text drawn by a seed, every answer computed.

A question says what it is about in codes and numbers; its words stand where it is shown.
"""

from random import Random

import torch

from mla_engine import checks
from mla_engine.quiz import caches, forms, maps, successors, work
from mla_engine.quiz.question import Choice, Generator, Question

__all__ = ["KINDS", "Choice", "Question", "order", "question"]

FIRST: dict[str, Generator] = {
    ask.__name__: ask for module in (caches, work, forms, maps) for ask in module.KINDS
}
LATER: dict[str, Generator] = {ask.__name__: ask for ask in successors.KINDS}
LAST: dict[str, Generator] = {ask.__name__: ask for ask in successors.LAST}
NEWEST: dict[str, Generator] = {ask.__name__: ask for ask in successors.NEWEST}
KINDS: dict[str, Generator] = FIRST | LATER | LAST | NEWEST


def order(seed: int) -> tuple[str, ...]:
    """All kinds, in the order in which the set of this seed asks them.

    Those that were added come last, so that a set still begins as it did.

    Raises:
        ValueError: the seed is no whole number from 0.
    """
    checks.whole("seed", seed, least=0)
    rng = Random(f"{seed}")
    groups = (FIRST, LATER, LAST, NEWEST)
    return tuple(kind for of in groups for kind in rng.sample(tuple(of), len(of)))


def question(seed: int, kind: str) -> Question:
    """The question of a kind in the set of a seed: the same on every machine.

    Raises:
        ValueError: an unknown kind, or a seed that is no whole number from 0.
    """
    checks.whole("seed", seed, least=0)
    checks.choice("kind", kind, tuple(KINDS))
    with torch.inference_mode():
        return KINDS[kind](Random(f"{seed}/{kind}"))
