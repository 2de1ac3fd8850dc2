"""A question with what can be said to it; what is right comes from the page's own run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log, log10

import numpy as np

from ui.parts.keys import css
from ui.words.numbers import digits, shortest
from ui.words.text import t

STEPS = 20  # of a scale over decades, a decade; of an even one, in all twice as many
CLOSE = 1.25  # times too much or too little that is still close


@dataclass(frozen=True)
class Dot:
    """A point of a curve that is drawn.

    Args:
        name: what it is called.
        trace: the name of the chart's trace that it belongs to.
        place: among the points of that trace.
        true: what was measured, in the unit of the chart's y axis.
        given: whether it is shown from the start and stays.
    """

    name: str
    trace: str
    place: int
    true: float
    given: bool = False


@dataclass(frozen=True)
class Drawing:
    """Curves of percentages that the reader draws over a chart; the first point is given.

    Args:
        chart: a selector of the place where the chart stands.
        lines: the points of each, in order.
    """

    chart: str
    lines: tuple[tuple[Dot, ...], ...]


@dataclass(frozen=True)
class Guess:
    """A question about what the page is about to show.

    Args:
        key: its name; an answer is remembered by it.
        asks: the question, as HTML.
        why: one sentence on the answer, as HTML.
        answers: what can be said, in order.
        right: the place of what is right among them; of an amount it may lie between two.
        true: what is right, as it is written.
        told: what is told after each answer.
        scale: whether the answers are a scale to drag on, else choices.
        hides: keys of the elements that would give it away.
        drawing: what is drawn in place of an answer; `told` is then one sentence, with {0}, {1} for
            the heights of the points that are not given, and `right` has what was measured of each.
        of_all: what a class is asked instead of drawing, since its answers are counted.
    """

    key: str
    asks: str
    why: str
    answers: tuple[str, ...]
    right: float | tuple[float, ...]
    true: str
    told: tuple[str, ...]
    scale: bool = False
    hides: tuple[str, ...] = ()
    drawing: Drawing | None = None
    of_all: "Guess | None" = None


def choice(
    key: str,
    asks: str,
    answers: Sequence[str],
    right: int,
    *,
    why: str,
    hides: tuple[str, ...] = (),
) -> Guess:
    """A question with a few answers, of which one is right."""
    true = answers[right]
    told = tuple(
        t("guess.right", said=said) if place == right else t("guess.wrong", said=said, true=true)
        for place, said in enumerate(answers)
    )
    return Guess(key, asks, why, tuple(answers), right, true, told, hides=hides)


def drawn(
    key: str,
    asks: str,
    lines: Sequence[Sequence[Dot]],
    *,
    true: str,
    told: str,
    why: str,
    over: str,
    of_all: Guess,
    hides: tuple[str, ...] = (),
) -> Guess:
    """Curves to be drawn over the chart of the key `over`; of `told`, `of_all` see `Guess`."""
    drawing = Drawing(f".st-key-{css(over)}", tuple(tuple(line) for line in lines))
    right = tuple(dot.true for line in lines for dot in line if not dot.given)
    return Guess(
        key, asks, why, (), right, true, (told,), hides=hides, drawing=drawing, of_all=of_all
    )


def among(numbers: Sequence[float], right: float) -> tuple[list[float], int]:
    """Different numbers in order, the right one among them, and its place."""
    found = sorted({*numbers, right})
    return found, found.index(right)


def decades(
    key: str,
    asks: str,
    true: float,
    ends: tuple[float, float],
    *,
    say: Callable[[float], str],
    why: str,
    hides: tuple[str, ...] = (),
) -> Guess:
    """An amount on a scale of powers of ten, which is made longer where the answer lies beyond."""
    low, high = (round(log10(end)) for end in ends)
    low, high = min(low, floor(log10(true))), max(high, floor(log10(true)) + 1)
    stops = [_round(10**at) for at in np.linspace(low, high, STEPS * (high - low) + 1)]
    shown = say(true)
    told = tuple(_told_times(stop, true, say(stop), shown) for stop in stops)
    right = STEPS * (log10(true) - low)
    return Guess(key, asks, why, tuple(map(say, stops)), right, shown, told, True, hides)


def tokens(number: str) -> str:
    """So many tokens, in words."""
    return t("guess.token" if number == "1" else "guess.tokens", n=number)


def _round(value: float) -> float:
    """To two digits."""
    return float(shortest(value, 2))


def _told_times(said: float, true: float, said_text: str, true_text: str) -> str:
    off = max(said, true) / min(said, true)
    name = "close" if off < CLOSE else "times_more" if said > true else "times_less"
    return t(f"guess.{name}", said=said_text, true=true_text, times=digits(off, 2))


def evenly(
    key: str,
    asks: str,
    true: float,
    end: float,
    *,
    say: Callable[[float], str],
    why: str,
    hides: tuple[str, ...] = (),
) -> Guess:
    """An amount in percent on an even scale from 0, made longer where the answer lies beyond."""
    stops = np.linspace(0, max(end, true), 2 * STEPS + 1)
    shown, step = say(true), stops[1]
    told = tuple(_told_off(stop, true, say) for stop in stops)
    return Guess(key, asks, why, tuple(map(say, stops)), true / step, shown, told, True, hides)


def _told_off(said: float, true: float, say: Callable[[float], str]) -> str:
    close = said and true and abs(log(said / true)) < log(CLOSE)
    name = "close" if close else "more" if said > true else "less"
    return t(f"guess.{name}", said=say(said), true=say(true), off=digits(abs(said - true), 2))
