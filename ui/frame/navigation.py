"""The navigation in the sidebar: language, story, pages in their groups, lecture mode."""

from itertools import groupby

import streamlit as st

from ui.frame import classroom, lecture, story
from ui.parts.control import control
from ui.settings import came
from ui.settings.rooms import PAGES
from ui.words.text import t


def draw() -> None:
    """Language, the story, every page in lecture order, lecture mode."""
    st.markdown("**MLA Explorer**")
    control("lang", label_visibility="collapsed")
    st.session_state.links = query = came.elsewhere()
    story.start_button()
    for group, pages in groupby(PAGES.values(), lambda page: page.group):
        with st.container(key=f"pages_{group}", gap="xsmall"):
            st.caption(t(f"navigation.{group}"))
            for page in pages:
                st.page_link(page.file, label=t(f"{page.name}.link"), query_params=query)
    lecture.button()
    classroom.button()
