"""The frame of every page: settings from the link, navigation, the row at the foot."""

import streamlit as st

from ui import ASSETS
from ui.engine import model, queue
from ui.frame import code, fault, lecture, navigation, notes, share, story, uploads
from ui.parts import bridge, real_layer, sizes
from ui.settings import state
from ui.settings import visit as visits
from ui.settings.page import Page
from ui.words.text import t

STYLE, ICON = ASSETS / "style.css", ASSETS / "icon.png"


def setup(page: Page) -> None:
    """Begin a page: all that stands around it, but for the row at its foot."""
    visit = visits.begin(page)
    uploads.note(page)
    st.set_page_config(page_title="MLA Explorer", page_icon=str(ICON), layout="wide")
    st.html(STYLE)
    state.follow()
    changed = state.read(page.name) + model.mend() + story.mend(page.name) + page.mend()
    queue.warm_up()
    _bar(page)
    top = st.container()
    with st.sidebar:
        navigation.draw()
        visit.top = top
        if page.sizes:
            sizes.controls()
    with top:
        fault.tell()
    notes.say(changed, page.name)
    real_layer.failure()


def _bar(page: Page) -> None:
    """What stands above the title: the bar of lecture mode, or that of the story."""
    step = story.present()
    if lecture.on():
        lecture.bar(page, step)
    elif step:
        story.bar(step)


def footer(view: object) -> None:
    """The row of quiet buttons, and the code behind `view`, None where nothing could be shown."""
    page = visits.visit().page
    lecture.keys()
    st.divider()
    everything, here, link, audience = st.columns(4)
    everything.button(t("common.reset_all"), on_click=state.reset, width="stretch")
    here.button(t("common.reset_page"), on_click=state.reset, args=(page,), width="stretch")
    with link:
        bridge.copy_link(share.link(), label=t("common.copy_link"), done=t("common.link_copied"))
    with audience:
        share.button(width="stretch")
    code.behind(page, view)
