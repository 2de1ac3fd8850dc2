"""The card above a picture: its question, a control, and after the answer the gap."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import streamlit as st

from ui import asset
from ui.parts.guess.question import Guess
from ui.parts.keys import css
from ui.settings import state
from ui.settings.visit import visit
from ui.words.text import t

WORDS = "label", "show", "show_me", "again", "yours", "truth", "stale"


def ask(question: Guess | None) -> None:
    """Ask before the answer shows; not in the story or a lecture, where somebody speaks.

    The browser remembers what was said, and alone moves the control and shows the gap.
    """
    s = state.settings()
    if question is None or s["stop"] or s["lecture"]:
        return
    linked = _by_link()
    if linked and question.drawing:  # over what is to be seen there is nothing to draw
        return
    shown = asdict(question)
    shown["hides"] = [] if linked else [f".st-key-{css(key)}" for key in question.hides]
    shown["none"] = t("guess.measured" if question.drawing else "guess.none", true=question.true)
    words = {name: t(f"guess.{name}") for name in WORDS}
    with st.container(key="guess"):
        _component()(key="guess_card", data=(shown | {"texts": words},))


def _by_link() -> bool:
    """Whether a link with settings brought the reader to this page: that is to be seen at once."""
    came: set[str] = st.session_state.setdefault("guess_links", set())
    if visit().asked - {"lang"}:
        came.add(visit().page.name)
    return visit().page.name in came


def _component() -> Callable[..., Any]:
    style, script = asset("guess.css"), asset("drawn.js") + asset("guess.js")
    page = '<section class="guess"></section>'
    return st.components.v2.component(
        "guess", html=page, css=style, js=script, isolate_styles=False
    )
