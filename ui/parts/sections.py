"""Sections below a page's first picture: each is computed and drawn when the reader comes near.

The browser tells when (assets/section.js). Until then a section holds its place, with a button for
whoever cannot scroll. Where no browser listens, and where a step of the story is about a section,
it is drawn at once.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from ui import asset
from ui.parts import prose, waits
from ui.settings import state
from ui.settings.server import server
from ui.settings.visit import is_plain, visit
from ui.words.text import t

KEY = "section_"  # of what waits, before its name
KEPT = 0.9  # of a section's height, which differs a little from one state to another
Heights = tuple[int, int, int]  # pixels: on a wide screen, on one under 1,400 pixels, on a phone


def later(
    name: str,
    draw: Callable[[], None],
    heights: Heights,
    *,
    holds: tuple[str, ...] = (),
    title: str = "",
) -> None:
    """Draw a section when it is reached, and what a `ValueError` of it refuses in its place.

    Args:
        name: on its page.
        draw: the section.
        heights: of what it draws, about.
        holds: keys of its elements that the story lights.
        title: stands over its place while it waits, where `draw` has titles of its own.
    """
    before = dict(state.settings())
    with st.container(key=f"place_{name}"):
        st.html(_kept(name, heights))
        st.fragment(partial(_section, name, draw, heights, holds, title, before))()


def _kept(name: str, heights: Heights) -> str:
    """Return the style that keeps most of the room while a section takes its place."""
    wide, narrow, phone = (
        f".st-key-place_{name} {{ min-height: {KEPT * height:.0f}px }}" for height in heights
    )
    narrower = f"@media (max-width: 1399px) {{ {narrow} }} @media (max-width: 640px) {{ {phone} }}"
    return f"<style>{wide} {narrower}</style>"


def _section(
    name: str,
    draw: Callable[[], None],
    heights: Heights,
    holds: tuple[str, ...],
    title: str,
    before: dict[str, object],
) -> None:
    if state.settings() != before:  # a control of the section: what is around it follows too
        st.rerun()
    if not (name in _reached() or set(holds) & set(visit().look) or not watched()):
        _wait(name, heights, title)
        return
    try:
        with waits.drawing_turn(visit().page):
            draw()
    except ValueError as refusal:
        prose.refused(refusal)


def _wait(name: str, heights: Heights, title: str) -> None:
    if title:
        st.subheader(title, anchor=False)
    key, reached = f"{KEY}{name}", _reached()

    def near() -> None:
        if st.session_state[key].get("near"):
            reached.add(name)

    style, script = asset("section.css"), asset("section.js")
    html = '<div class="waits"><button type="button"></button></div>'
    place = st.components.v2.component("section", html=html, css=style, js=script)
    data = {"name": name, "heights": heights, "show": t("sections.show")}
    place(key=key, data=data, on_near_change=near)


def _reached() -> set[str]:
    """Return the sections of this page that were reached since it was opened."""
    page, kept = visit().page.name, st.session_state.get("reached")
    if not kept or kept[0] != page:
        kept = st.session_state.reached = (page, set())
    return kept[1]


def watched() -> bool:
    """Tell whether a browser shows the page; in a test of it, or for a copy, nobody scrolls."""
    return bool(st.context.headers) and not server().recorded and not is_plain()
