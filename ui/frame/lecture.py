"""Lecture mode: larger type, the sidebar out of sight, a slim bar, clicker keys."""

from functools import partial

import streamlit as st

from ui import ASSETS, asset
from ui.frame import share, story
from ui.settings import state
from ui.settings.page import PAGES, Page
from ui.settings.visit import visit
from ui.sources import checkpoint
from ui.words.text import t

STYLE = ASSETS / "lecture.css"

_button = partial(story.bar_button, "lecture", type="tertiary")


def on() -> bool:
    """Tell whether lecture mode is on."""
    return state.settings()["lecture"]


def button() -> None:
    """In the navigation: begin."""
    start = partial(state.change, lecture=True)
    icon = ":material/co_present:"
    st.button(t("lecture.start"), key="lecture_start", icon=icon, on_click=start, width="stretch")


def bar(page: Page, step: story.Step | None) -> None:
    """The page's two controls, the place, the ways on and out; in the story its sentence."""
    st.html(STYLE)
    place, count = list(PAGES).index(page.name) + 1, len(PAGES)
    if step:
        place, count = story.number(), len(story.steps())
    with st.container(key="lecture_bar", horizontal=True, vertical_alignment="center"):
        visit().places = {
            name: st.container(key=f"lecture_slot_{name}", horizontal=True)
            for name in page.lecture
            if name != "source" or checkpoint.named() is None  # once chosen, it rests
        }
        with st.container(
            key="lecture_ways", horizontal=True, gap="xsmall", vertical_alignment="center"
        ):
            _button("previous", "chevron_left", partial(turn, -1), disabled=place == 1)
            st.markdown(f"{place} / {count}", width="content")
            _button("next", "chevron_right", partial(turn, 1), disabled=place == count)
            share.button("lecture_share", help=t("share.button"), type="tertiary")
            if step:
                story.draw(step)
            _button("leave", "close", leave)
        _frame()
        if step:
            st.container(key="lecture_says").markdown(story.sentence(step))


def _frame() -> None:
    """Fits the main picture to the screen and listens to Escape."""
    frame = st.components.v2.component("lecture_frame", js=asset("lecture.js"))
    frame(key="lecture_frame", on_escape_change=leave)


def leave() -> None:
    """Back to the page as it was."""
    state.change(lecture=False)


def turn(by: int) -> None:
    """Go on by a step of the story; outside it by a page in lecture order."""
    if story.number():
        story.turn(by)
        return
    names = list(PAGES)
    place = names.index(visit().page.name) + by
    state.go(names[min(len(names) - 1, max(0, place))], **state.query())
