"""The presenter's window: a second window of the same browser, which follows without a server.

The page writes it and the two talk to each other only through the browser.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from ui import asset
from ui.words.text import t

KEY = "story_stage"
ICON = (  # a window before another
    '<svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" '
    'stroke-width="2"><path d="M8 8V4h12v12h-4M4 8h12v12H4z"/></svg>'
)
WORDS = (
    *("title", "now", "note", "next", "end", "jump", "back", "on"),
    *("black", "bright", "clock", "again", "lost"),
)


def draw(
    steps: Sequence[Mapping[str, Any]],
    number: int,
    *,
    look: list[str],
    on_go: Callable[[int], None],
) -> None:
    """The button that opens the window, what it shows, and what the page brings into view.

    Args:
        steps: the whole story in the reader's language: chapter, title, say, note.
        number: of the present step, from 1.
        look: class names of what the step is about.
        on_go: opens the step that was chosen in the window.
    """

    def went() -> None:
        chosen = st.session_state[KEY].get("go")
        if isinstance(chosen, int):
            on_go(chosen)

    told = {name: t(f"story.window_{name}") for name in WORDS}
    told |= {"open": t("story.presenter"), "blocked": t("story.blocked")}
    data = {"steps": steps, "number": number, "look": look, "texts": told}
    _component()(key=KEY, data=data, on_go_change=went)


def _component() -> Callable[..., dict[str, Any]]:
    window, script = asset("presenter.html"), asset("story.js")
    return st.components.v2.component(
        "story_stage",
        html=f'<button class="quiet" type="button">{ICON}</button>',
        css=asset("copy_link.css"),
        js=f"const WINDOW = {json.dumps(window)};\n{script}",
    )
