"""The quiet menu of every page: reset, link, QR code, data and code."""

from functools import partial

import streamlit as st

from ui.frame import code, share
from ui.parts import bridge, files, measure
from ui.settings import state
from ui.settings.page import Page
from ui.settings.visit import visit
from ui.words.text import t


def draw(page: Page) -> None:
    """The button at the right of the row above the title; `data` adds to it what comes later."""
    place = st.popover(t("menu.open"), icon=":material/more_horiz:", key="menu")
    with place, st.container(gap="xsmall"):
        for name, args in (("reset_page", (page,)), ("reset_all", ())):
            label, wide = t(f"common.{name}"), {"width": "stretch"}
            st.button(label, key=name, on_click=state.reset, args=args, **wide)
        bridge.copy_link(share.link(), label=t("common.copy_link"), done=t("common.link_copied"))
        share.button(width="stretch")
        visit().menu = st.container()
        code.choice()
        st.text(t("menu.runs_on", machine=measure.here()))


def data(page: Page) -> None:
    """Every table that the page hands out, as one file; once the page has drawn them."""
    tables = list(visit().tables.values())
    if tables:
        with visit().menu:
            made = partial(files.together, tables)
            files.button(t("menu.data"), made, f"mla_{page.name}.zip", "application/zip", "zip")
