"""The navigation in the sidebar, and the quiet menu of every page."""

from functools import partial
from itertools import groupby

import streamlit as st

from ui import asset
from ui.frame import classroom, code, lecture, share, story
from ui.parts import files, measure
from ui.parts.control import control
from ui.settings import state
from ui.settings.page import PAGES, Page
from ui.settings.server import server
from ui.settings.visit import visit
from ui.words.text import t


def draw() -> None:
    """Draw the choice of language, the story, the pages by groups in lecture order, lecture mode.

    The group of the present page is open, the others say what is behind them.
    """
    st.markdown("**MLA Explorer**", unsafe_allow_html=True)  # so it fetches what words wait for
    control("lang", label_visibility="collapsed")
    st.session_state.links = query = story.query_outside()
    story.start_button()
    here = visit().page.group
    for group, pages in groupby(PAGES.values(), lambda page: page.group):
        label = f"**{t(f'navigation.{group}')}** :small[{t(f'navigation.{group}_holds')}]"
        with st.expander(label, expanded=group == here, key=f"pages_{group}"):
            for page in pages:
                st.page_link(page.file, label=t(f"{page.name}.link"), query_params=query)
    if not server().recorded:
        lecture.button()
    classroom.button()


def menu(page: Page) -> None:
    """Draw the menu at the right of the row above the title; `menu_data` adds to it later."""
    place = st.popover(t("menu.open"), icon=":material/more_horiz:", key="menu")
    with place, st.container(gap="xsmall"):
        for name, args in (("reset_page", (page,)), ("reset_all", ())):
            label, wide = t(f"common.{name}"), {"width": "stretch"}
            st.button(label, key=name, on_click=state.reset, args=args, **wide)
        link = "" if server().recorded else share.link()  # of a copy the browser knows it
        _copy_link(link, label=t("common.copy_link"), done=t("common.link_copied"))
        if not server().recorded:
            share.button(width="stretch")
        visit().menu = st.container()
        control("ask", help=t("guess.ask_help"))
        code.choice()
        st.text(t("menu.runs_on", machine=measure.here()))


def _copy_link(link: str, *, label: str, done: str) -> None:
    """Draw a button that copies `link`, or where that is empty the browser's address."""
    button = st.components.v2.component(
        "copy_link",
        html='<button class="quiet" type="button"></button><input hidden readonly>',
        css=asset("copy_link.css"),
        js=asset("copy_link.js"),
    )
    button(key="copy_link", data={"link": link, "label": label, "done": done})


def menu_data(page: Page) -> None:
    """Offer every table of the page as one file, once the page has drawn them."""
    tables = list(visit().tables.values())
    if tables and not server().recorded:
        with visit().menu:
            made = partial(files.together, tables)
            files.button(t("menu.data"), made, f"mla_{page.name}.zip", "application/zip", "zip")
