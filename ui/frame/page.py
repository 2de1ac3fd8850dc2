"""The frame of every page: settings from the link, navigation, the row above the title."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st

from ui import ASSETS, asset
from ui.engine import job_owner, model, queue
from ui.frame import (
    classroom,
    code,
    fault,
    lecture,
    menu,
    navigation,
    notes,
    story,
    uploads,
)
from ui.parts import linked, real_layer, sizes, waits
from ui.settings import state
from ui.settings import visit as visits
from ui.settings.page import Page

STYLE, ICON = ASSETS / "style.css", ASSETS / "icon.png"


@dataclass
class Frame:
    """What a storyboard tells the frame around it.

    Args:
        view: what the page shows; None where nothing could be shown.
    """

    view: object = None


@contextmanager
def frame(page: Page) -> Iterator[Frame]:
    """Draw what stands around a page before the block, and below it after the block.

    The block draws the page itself. A few pages are drawn at a time: the others wait here.
    """
    state.follow()
    with waits.drawing_turn(page):
        _above(page)
        shown = Frame()
        yield shown
        _below(page, shown.view)


def _above(page: Page) -> None:
    visit = visits.begin(page)
    uploads.note(page)
    st.set_page_config(page_title="MLA Explorer", page_icon=str(ICON), layout="wide")
    st.html(STYLE)
    changed = state.read(page.name) + model.mend() + story.mend(page.name) + page.mend()
    queue.warm_up()
    _bar(page)
    row = st.container(key="page_row", horizontal=True, vertical_alignment="center")
    top = st.container()
    with st.sidebar:
        navigation.draw()
        _listen()
    visit.top = top
    job_owner.show_places_by(waits.corner())
    with row:
        if page.sizes:
            sizes.chip()
        menu.draw(page)
    with top:
        fault.tell()
    notes.say(changed)
    real_layer.failure()


def _listen() -> None:
    """What the frame does in the browser."""
    st.components.v2.component("frame", js=asset("frame.js"))(key="frame")
    classroom.listen()


def _bar(page: Page) -> None:
    """What stands above the title: the bar of lecture mode, or that of the story."""
    step = story.present()
    if lecture.on():
        lecture.bar(page, step)
    elif step:
        story.bar(step)


def _below(page: Page, view: object) -> None:
    lecture.keys()
    classroom.offer()
    linked.listen()
    menu.data(page)
    code.behind(page, view)
