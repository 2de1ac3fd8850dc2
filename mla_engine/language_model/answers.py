"""The words that must come next in a text of the language, read from its words."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from mla_engine.language_model.texts import FOODS, NAMES, NOUNS, NUMBERS, OPENING, THINGS

__all__ = ["Answer", "answer"]

NOUN = {*NOUNS, *(f"{noun}s" for noun in NOUNS)}


class Answer(NamedTuple):
    """The word that must come next, the task that asks for it, and the place that decides it."""

    task: str
    word: str
    place: int


def answer(words: Sequence[str]) -> Answer | None:
    """Return what must come after these words; None where they leave it open.

    A full stop that a segment ends with is left open, too: no word of the text decides it.
    """
    text = list(words)
    found = (read(text) for read in (_recall, _copy, _back, _agreement, _brackets))
    return next(filter(None, found), None)


def _recall(words: list[str]) -> Answer | None:
    """Return the thing that followed a name the last time that it stood there."""
    name = words[-1] if words else ""
    if name not in NAMES:
        return None
    for place in range(len(words) - 2, 0, -1):
        if words[place - 1] == name and words[place] in THINGS:
            return Answer("recall", words[place], place)
    return None


def _copy(words: list[str]) -> Answer | None:
    """Return the word of the list that comes next, as long as what is said is its beginning."""
    colon = _last(words, ":")
    listed = _before(words, colon, FOODS.__contains__)
    first = colon - len(listed)
    said = words[colon + 1 :]
    if not listed or first == 0 or words[first - 1] != "copy" or said != listed[: len(said)]:
        return None
    if len(said) == len(listed):
        return None
    return Answer("copy", listed[len(said)], first + len(said))


def _back(words: list[str]) -> Answer | None:
    """Return the word so many places back as the number says."""
    if not words or words[-1] not in NUMBERS:
        return None
    place = len(words) - 2 - NUMBERS.index(words[-1])
    return Answer("back", words[place], place) if place >= 0 else None


def _agreement(words: list[str]) -> Answer | None:
    """Return `is` or `are`, as the first noun before `now` is one or several."""
    if not words or words[-1] != "now":
        return None
    phrase = _before(words, len(words) - 1, {*NOUN, "the", "near"}.__contains__)
    places = range(len(words) - 1 - len(phrase), len(words) - 1)
    subjects = [at for at in places if words[at] in NOUN and _begins(words, at)]
    if not subjects:
        return None
    plural = words[subjects[-1]] not in NOUNS
    return Answer("agreement", "are" if plural else "is", subjects[-1])


def _begins(words: list[str], place: int) -> bool:
    """Return True if a noun has its article and is near no other one: the subject."""
    before = words[max(0, place - 2) : place]
    return before[-1:] == ["the"] and before[:-1] != ["near"]


def _brackets(words: list[str]) -> Answer | None:
    """Return what closes the last bracket that is still open."""
    close = _last(words, "close")
    opened = _before(words, close, OPENING.__contains__)
    closed = words[close + 1 :]
    due = [OPENING[bracket] for bracket in opened[::-1]]
    if close < 0 or len(closed) >= len(due) or closed != due[: len(closed)]:
        return None
    return Answer("brackets", due[len(closed)], close - 1 - len(closed))


def _last(words: list[str], word: str) -> int:
    """Return the last place of a word; -1 if it does not occur."""
    return max((place for place, one in enumerate(words) if one == word), default=-1)


def _before(words: list[str], place: int, kind: Callable[[str], bool]) -> list[str]:
    """Return the words of a kind that stand in a row before a place."""
    return list(takewhile(kind, words[max(place, 0) - 1 :: -1] if place > 0 else ()))[::-1]
