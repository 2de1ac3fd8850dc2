"""The frame of every page: settings from the link, navigation, the row above the title."""

import streamlit as st

from ui import ASSETS, asset
from ui.engine import asker, model, queue
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
    waits,
)
from ui.parts import linked, real_layer, sizes
from ui.settings import state
from ui.settings import visit as visits
from ui.settings.page import Page

STYLE, ICON = ASSETS / "style.css", ASSETS / "icon.png"


def setup(page: Page) -> None:
    """Begin a page: all that stands around it, but for the code behind it."""
    visit = visits.begin(page)
    uploads.note(page)
    st.set_page_config(page_title="MLA Explorer", page_icon=str(ICON), layout="wide")
    st.html(STYLE)
    state.follow()
    changed = state.read(page.name) + model.mend() + story.mend(page.name) + page.mend()
    queue.warm_up()
    _bar(page)
    row = st.container(key="page_row", horizontal=True, vertical_alignment="center")
    top = st.container()
    with st.sidebar:
        navigation.draw()
        _listen()
    visit.top = top
    asker.tell_by(waits.corner())
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


def footer(view: object) -> None:
    """What follows a page: the code behind `view`, None where nothing could be shown."""
    page = visits.visit().page
    lecture.keys()
    classroom.offer()
    linked.listen()
    menu.data(page)
    code.behind(page, view)
