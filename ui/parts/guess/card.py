"""The card above a picture: its question, a control, and after the answer the gap."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from ui import asset
from ui.classroom import questions
from ui.parts.guess.question import Guess
from ui.parts.keys import css
from ui.settings import state
from ui.settings.visit import visit
from ui.words.text import t

View = TypeVar("View")

NO_STATE = {"lang", "room"}  # of a link: what says nothing of its page
WORDS = "label", "show", "show_me", "again", "yours", "truth", "stale"


def ask(make: Callable[[View], Guess | None], view: View) -> None:
    """Ask before the answer shows; not in the story or a lecture, where somebody speaks.

    The browser remembers what was said, and alone moves the control and shows the gap. A lecturer
    can put it to a class.
    """
    s, question = state.settings(), make(view)
    if question is None:
        return
    _offer(question, partial(make, view))
    if s["stop"] or s["lecture"]:
        return
    linked = _by_link()
    if linked and question.drawing:  # over what is to be seen there is nothing to draw
        return
    shown = asdict(replace(question, of_all=None))
    shown["seen"] = linked and bool(question.hides)  # the answer stands in sight
    shown["hides"] = [] if linked else [f".st-key-{css(key)}" for key in question.hides]
    shown["none"] = t("guess.measured" if question.drawing else "guess.none", true=question.true)
    words = {name: t(f"guess.{name}") for name in WORDS}
    with st.container(key="guess"):
        _component()(key="guess_card", data=(shown | {"texts": words},))


def _by_link() -> bool:
    """Whether a link with settings brought the reader to this page: that is to be seen at once."""
    came: set[str] = st.session_state.setdefault("guess_links", set())
    if visit().asked - NO_STATE:
        came.add(visit().page.name)
    return visit().page.name in came


def _offer(question: Guess, make: Callable[[], Guess]) -> None:
    """Let a lecturer put it to a class, in a form whose answers can be counted."""
    asked = question.of_all or question

    def say() -> questions.Words:
        made = make()
        made = made.of_all or made
        return questions.Words(made.asks, made.answers, made.true, made.why)

    hides = tuple(map(css, asked.hides))
    questions.offer(say, asked.right, guess=question.key, scale=asked.scale, hides=hides)


def _component() -> Callable[..., Any]:
    style, script = asset("guess.css"), asset("drawn.js") + asset("guess.js")
    page = '<section class="guess"></section>'
    return st.components.v2.component(
        "guess", html=page, css=style, js=script, isolate_styles=False
    )
