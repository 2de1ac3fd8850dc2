"""A question on what a page shows: asked before its answer shows, of a class, or in the quiz.

The page's own run makes the answer, and says with it what is told after each possible one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import floor, log, log10
from typing import TypeVar

import numpy as np
import streamlit as st

from ui import asset, css
from ui.classroom import questions as classroom
from ui.settings import state
from ui.settings.visit import visit
from ui.words.numbers import digits, shortest
from ui.words.text import in_languages, t

View = TypeVar("View")

STEPS = 20  # of a scale over decades, a decade; of an even one, in all twice as many
CLOSE = 1.25  # times too much or too little that is still close
BUTTONS = (
    *("label", "first", "covered", "show", "show_me"),
    *("again", "yours", "truth", "stale"),
)  # the card's own texts


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
class Curves:
    """Curves that the reader draws over a chart; the first point is given.

    Args:
        chart: a selector of the place where the chart stands.
        lines: the points of each, in order.
        unit: of the chart's y axis, as it is written behind a number; percentages end at 100.
    """

    chart: str
    lines: tuple[tuple[Dot, ...], ...]
    unit: str = "%"


@dataclass(frozen=True)
class Question:
    """A question with every possible answer, and what is told after each.

    Args:
        key: its name, by which the browser remembers an answer; "" in the quiz, whose links do.
        asks: the question, as HTML.
        answers: the possible answers in order, as plain text.
        right: the place of the right answer; on a scale it may lie between two. Of a drawing, what
            was measured at each point that is not given.
        why: one sentence that explains the right answer, as HTML.
        true: the right answer as it is written.
        told: what is told after each answer; of a drawing one sentence, with {0}, {1} for the
            heights of the points that are not given.
        none: what is told to a reader who does not answer.
        scale: whether the answers are a scale to drag on, else choices.
        hides: keys of the elements that would give the answer away.
        drawing: what is drawn in place of an answer.
        of_class: what a class is asked in place of drawing, since its answers are counted.
    """

    key: str
    asks: str
    answers: tuple[str, ...]
    right: float | tuple[float, ...]
    why: str
    true: str
    told: tuple[str, ...]
    none: str
    scale: bool = False
    hides: tuple[str, ...] = ()
    drawing: Curves | None = None
    of_class: "Question | None" = None


def choice(
    key: str,
    asks: str,
    answers: Sequence[str],
    right: int,
    *,
    why: str,
    hides: tuple[str, ...] = (),
    texts: str = "guess.",
) -> Question:
    """Return a question with a few answers, one of them right; `texts` begins its texts' keys."""
    true = answers[right]
    told = tuple(
        t(f"{texts}{'right' if place == right else 'wrong'}", said=said, true=true)
        for place, said in enumerate(answers)
    )
    none = t(f"{texts}none", true=true)
    return Question(key, asks, tuple(answers), right, why, true, told, none, hides=hides)


def among(numbers: Sequence[float], right: float) -> tuple[list[float], int]:
    """Return different numbers in order, the right one among them, and its place."""
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
) -> Question:
    """Return an amount asked on a scale of powers of ten, longer where the answer is beyond it."""
    low, high = (round(log10(end)) for end in ends)
    low, high = min(low, floor(log10(true))), max(high, floor(log10(true)) + 1)
    stops = [float(shortest(10**at, 2)) for at in np.linspace(low, high, STEPS * (high - low) + 1)]
    answers, shown = tuple(map(say, stops)), say(true)
    told = tuple(
        _told_times(stop, true, said, shown) for stop, said in zip(stops, answers, strict=True)
    )
    right, none = STEPS * (log10(true) - low), t("guess.none", true=shown)
    return Question(key, asks, answers, right, why, shown, told, none, scale=True, hides=hides)


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
) -> Question:
    """Return a percentage asked on an even scale from 0, longer where the answer is beyond it."""
    stops = np.linspace(0, max(end, true), 2 * STEPS + 1)
    answers, shown = tuple(map(say, stops)), say(true)
    told = tuple(_told_points(stop, true, say) for stop in stops)
    right, none = true / stops[1], t("guess.none", true=shown)
    return Question(key, asks, answers, right, why, shown, told, none, scale=True, hides=hides)


def _told_points(said: float, true: float, say: Callable[[float], str]) -> str:
    close = said and true and abs(log(said / true)) < log(CLOSE)
    name = "close" if close else "more" if said > true else "less"
    return t(f"guess.{name}", said=say(said), true=say(true), off=digits(abs(said - true), 2))


def curves(
    key: str,
    asks: str,
    lines: Sequence[Sequence[Dot]],
    *,
    true: str,
    told: str,
    why: str,
    over: str,
    of_class: Question,
    hides: tuple[str, ...] = (),
    unit: str = "%",
) -> Question:
    """Return curves to be drawn over the chart of the key `over`; see `Question` for the others."""
    drawing = Curves(f".st-key-{css(over)}", tuple(map(tuple, lines)), unit)
    right = tuple(dot.true for line in lines for dot in line if not dot.given)
    none = t("guess.measured", true=true)
    asked = Question(key, asks, (), right, why, true, (told,), none, hides=hides)
    return replace(asked, drawing=drawing, of_class=of_class)


def tokens(number: str) -> str:
    """Return so many tokens in words."""
    return t("guess.token" if number == "1" else "guess.tokens", n=number)


def ask(make: Callable[[View], Question | None], view: View, *, comes: bool = False) -> None:
    """Offer a page's question before its answer, and let a lecturer put it to a class.

    A quiet button beside the number asks it; it comes by itself where the reader wants to be asked
    first (`comes`). Nothing is asked in the story or a lecture, where somebody speaks. The browser
    remembers the answer; it moves the control and shows the gap by itself.
    """
    s, question = state.settings(), make(view)
    if question is None:
        return
    offer(partial(make, view))
    if s["stop"] or s["lecture"]:
        return
    shown = asdict(replace(question, of_class=None))
    shown["comes"] = comes or s["ask"]
    shown["hides"] = [f".st-key-{css(key)}" for key in question.hides]
    shown["texts"] = {name: t(f"guess.{name}") for name in BUTTONS}
    script = asset("cover.js") + asset("drawn.js") + asset("guess.js")
    card = st.components.v2.component(
        "guess",
        html='<section class="guess"></section>',
        css=asset("guess.css"),
        js=script,
        isolate_styles=False,
    )
    with st.container(key="guess"):
        card(key="guess_card", data=(shown,))  # of a bare dict Streamlit looks for data frames


def offer(make: Callable[[], Question]) -> None:
    """Offer the page's question to its lecturer, if a class is led here."""
    if classroom.leading():
        visit().offered = for_class(in_languages(make), state.settings()["lang"])


def for_class(said: Mapping[str, Question], lang: str) -> str:
    """Return a question in every language as a class is asked it: as JSON."""
    asked = {key: one.of_class or one for key, one in said.items()}
    words = {
        key: {"asks": one.asks, "answers": one.answers, "true": one.true, "why": one.why}
        for key, one in asked.items()
    }
    one = asked[lang]
    form = {"right": one.right, "scale": one.scale, "hides": list(map(css, one.hides))}
    return json.dumps({"words": words} | form | {"guess": one.key})
