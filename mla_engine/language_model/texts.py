"""A language of readable words whose texts hold answers that are determined by what stands before.

A text joins segments of five tasks. What is determined is marked, so that a loss or an accuracy can
ask for nothing that no reader could know:

    recall      anna lamp  ben cup  cleo drum  ben cup       a name is followed by its thing
    copy        copy fig plum pear : fig plum pear .         a list, once more
    back        fig plum pear two plum .                     the word so many places back
    agreement   the dogs near the cat now are .              the first noun decides is or are
    brackets    ( [ { close } ] ) .                          what was opened last closes first

Pairs are drawn for every text and every word is as frequent as the others of its kind, so that
no answer can be had by counting.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from random import Random
from typing import NamedTuple

from kvcount import checks

__all__ = [
    "LENGTH",
    "TASKS",
    "WORDS",
    "Task",
    "Text",
    "Word",
    "exercise",
    "first_practice",
    "mixed",
    "practice",
]

_KINDS = tomllib.loads((files(__package__) / "words.toml").read_text("utf-8"))
NAMES, THINGS, FOODS, NOUNS, NUMBERS, OTHERS = (tuple(kind.split()) for kind in _KINDS.values())
OPENING = {"(": ")", "[": "]", "{": "}"}
WORDS = (*NAMES, *THINGS, *FOODS, *NOUNS, *(f"{noun}s" for noun in NOUNS), *NUMBERS, *OTHERS)
LENGTH = 64
"""Words of a text in training."""
FIRST_LENGTH = 24
"""Words of the first texts of a training."""
LEAST_ASKED = 8
"""Pairs that a recall asks for, where it has so many."""


class Word(NamedTuple):
    """A word of a text, whether it is determined by what stands before it, and how far back."""

    word: str
    determined: bool = False
    distance: int = 0


Text = list[Word]


class Hand:
    """Random numbers for one text, and the names and things that it has not paired yet.

    A name that were paired twice would make an answer depend on which pair is meant. Where a pair
    may be asked for `again`, no answer can be had by leaving out those that were given already.
    """

    def __init__(self, random: Random, again: bool = False) -> None:
        self.random, self.again = random, again
        self.names = random.sample(NAMES, len(NAMES))
        self.things = random.sample(THINGS, len(THINGS))

    def pairs(self, count: int) -> list[tuple[str, str]]:
        """Return so many new pairs."""
        return [(self.names.pop(), self.things.pop()) for _ in range(count)]


@dataclass(frozen=True)
class Task:
    """One kind of segment.

    Attributes:
        name: what names it.
        loads: how much it asks to hold at once, from light to heavy.
        write: (the hand, load, most words) -> a segment.
        guess: the share of answers that a blind guess among the possible words gets right.
    """

    name: str
    loads: tuple[int, ...]
    write: Callable[[Hand, int, int], Text]
    guess: float


def recall(hand: Hand, load: int, room: int) -> Text:
    """Write `load` pairs, then repeat as many of them as there is space for."""
    pairs, most = hand.pairs(load), 2 * load if hand.again else load
    text = [Word(word) for pair in pairs for word in pair]
    stood = {pair: 2 * place + 1 for place, pair in enumerate(pairs)}
    draw = hand.random.choices if hand.again else hand.random.sample
    for pair in draw(pairs, k=min(most, room // 2 - load)):
        text.append(Word(pair[0]))
        text.append(Word(pair[1], True, len(text) - stood[pair]))
        stood[pair] = len(text) - 1
    return text


def copy(hand: Hand, load: int, _room: int) -> Text:
    """Write a list of different words, and repeat it."""
    listed = hand.random.sample(FOODS, load)
    again = [Word(word, True, load + 1) for word in listed]
    return [Word("copy"), *map(Word, listed), Word(":"), *again, Word(".", True)]


def back(hand: Hand, load: int, _room: int) -> Text:
    """Write a list of different words, a number up to `load`, the word so many places before it."""
    listed, places = (
        hand.random.sample(FOODS, hand.random.randint(4, 6)),
        hand.random.randint(1, load),
    )
    answer = Word(listed[-places], True, places + 1)
    return [*map(Word, listed), Word(NUMBERS[places - 1]), answer, Word(".", True)]


def agreement(hand: Hand, load: int, _room: int) -> Text:
    """Write a subject, `load` nouns of the other number that distract, and is or are."""
    plural = hand.random.random() < 0.5
    nouns = hand.random.sample(NOUNS, load + 1)
    text = [Word("the"), Word(_in_number(nouns[0], plural))]
    for noun in nouns[1:]:
        text += [Word("near"), Word("the"), Word(_in_number(noun, not plural))]
    distance = len(text)
    return [*text, Word("now"), Word("are" if plural else "is", True, distance), Word(".", True)]


def brackets(hand: Hand, load: int, _room: int) -> Text:
    """Write `load` brackets that open, and the same that close, the last one first."""
    opened = hand.random.choices(tuple(OPENING), k=load)
    closed = [
        Word(OPENING[bracket], True, 2 * place + 2) for place, bracket in enumerate(opened[::-1])
    ]
    return [*map(Word, opened), Word("close"), *closed, Word(".", True)]


def _in_number(noun: str, plural: bool) -> str:
    return f"{noun}s" if plural else noun


TASKS = {
    task.name: task
    for task in (
        Task("recall", (4, 8, 16, 24), recall, 1 / len(THINGS)),
        Task("copy", (4, 8, 12, 16), copy, 1 / len(FOODS)),
        Task("back", (1, 2, 3, 4), back, 1 / len(FOODS)),
        Task("agreement", (0, 1, 2, 4), agreement, 1 / 2),
        Task("brackets", (2, 4, 6, 8), brackets, 1 / len(OPENING)),
    )
}


def mixed(random: Random, length: int = LENGTH) -> Text:
    """Write `length` words with segments of every task and load; the last one may be cut."""
    return _filled(Hand(random), [], length)


def exercise(random: Random, task: str, load: int) -> Text:
    """Write at most LENGTH words that ask for one task at one load, as often as possible.

    Raises:
        ValueError: a task or a load that there is not.
    """
    checks.choice("task", task, TASKS)
    checks.choice("load", load, TASKS[task].loads)
    return _exercised(Hand(random), TASKS[task], load)


def practice(random: Random) -> Text:
    """Write a text to learn from: every other one mixed, the others of one task, mostly recall."""
    hand = Hand(random, again=True)
    if random.random() < 0.5:
        return _filled(hand, [], LENGTH)
    task = TASKS[random.choice(("recall", *TASKS))]
    return _filled(hand, _exercised(hand, task, random.choice(task.loads)), LENGTH)


def first_practice(random: Random) -> Text:
    """Write four pairs, and eight times one of them: so few words that recall is found soon."""
    return recall(Hand(random, again=True), 4, FIRST_LENGTH)


def _exercised(hand: Hand, task: Task, load: int) -> Text:
    text: Text = []
    while _fits(hand, task, load, LENGTH - len(text)):
        segment = task.write(hand, load, LENGTH - len(text))
        if len(text) + len(segment) > LENGTH:
            break
        text += segment
    return text


def _filled(hand: Hand, text: Text, length: int) -> Text:
    """Write the text, and segments of every task and load after it."""
    while (room := length - len(text)) > 0:
        task = TASKS[hand.random.choice(tuple(TASKS))]
        load = hand.random.choice(task.loads)
        if _fits(hand, task, load, room):
            text = [*text, *task.write(hand, load, room)]
    return text[:length]


def _fits(hand: Hand, task: Task, load: int, room: int) -> bool:
    """Return True if names and words are left for a recall that asks for enough of its pairs."""
    if task.write is not recall:
        return True
    return len(hand.names) >= load and 2 * load + 2 * min(load, LEAST_ASKED) <= room
