"""A trained model's expectation at a word of a sentence, and the names of a sentence's words."""

from collections.abc import Sequence
from dataclasses import dataclass

from mla_engine.language_model.answers import Answer, answer
from ui.parts.maps.view import short
from ui.sources import Trained, layers, trained
from ui.words.numbers import count, share
from ui.words.text import safe, t

NAMED = 5  # times that a word stands in a sentence, which are told apart in words


@dataclass(frozen=True)
class Reading:
    """The next word after a word: expected, right, and written.

    Args:
        expected: the next word that the model finds likeliest.
        chance: its probability.
        answer: what must come by the words so far, None where they leave it open.
        follows: the word that does come in the sentence; empty after its last one.
    """

    expected: str
    chance: float
    answer: Answer | None
    follows: str


def reading(source: Trained, words: Sequence[str], query: int) -> Reading:
    """Return what the model of a layer expects after the words up to `query`.

    Raises:
        ValueError, MemoryBudgetError, FullError: in the engine's words.
    """
    model = trained.load(source.code)
    trace = trained.run(model, tuple(model.config.tokens(" ".join(words))))
    chances = layers.to_numpy(trace.probabilities()[0, query])
    best = int(chances.argmax())
    so_far, (follows, *_) = words[: query + 1], (*words[query + 1 :], "")
    return Reading(model.config.words[best], float(chances[best]), answer(so_far), follows)


def expectation(read: Reading) -> str:
    """Return a sentence on the next word: what the model expects, and whether it is right."""
    values = {"next": quoted(read.expected), "chance": share(read.chance)}
    if read.answer:
        right = read.expected == read.answer.word
        key, values["right"] = "right" if right else "wrong", quoted(read.answer.word)
    elif read.follows:
        key = "as_written" if read.expected == read.follows else "otherwise"
        values["follows"] = quoted(read.follows)
    else:
        key = "open"
    return t(f"maps.next_{key}", **values)


def quoted(word: str) -> str:
    """Return a word as Markdown shows it."""
    return t("maps.quoted", word=safe(short(word)))


def named(words: Sequence[str], place: int) -> str:
    """Return a word as Markdown; one that stands there several times says which it is."""
    word, times = quoted(words[place]), [at for at, one in enumerate(words) if one == words[place]]
    if len(times) == 1:
        return word
    which = times.index(place) + 1
    key = f"nth_{which}" if which <= NAMED else "nth_more"
    return t(f"maps.{key}", word=word, n=count(which))


def beyond(source: object, words: Sequence[str]) -> str:
    """Return the note on a sentence longer than those of the training; else nothing."""
    if not isinstance(source, Trained):
        return ""
    most = trained.load(source.code).config.max_context
    if len(words) <= most:
        return ""
    return t("maps.beyond", words=count(len(words)), most=count(most))
