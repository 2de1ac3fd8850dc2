"""The navigation in the sidebar: language, pages, tour, lecture mode."""

import streamlit as st

from ui.frame import lecture, tour
from ui.settings import state
from ui.settings.rooms import PAGES
from ui.settings.shared import LANGUAGES
from ui.words.text import t


def draw() -> None:
    """Language, every page in lecture order, the tour and lecture mode."""
    st.markdown("**MLA Explorer**")
    state.control(
        st.segmented_control,
        t("common.language"),
        "lang",
        list(LANGUAGES),
        format_func=LANGUAGES.get,
        required=True,
        label_visibility="collapsed",
    )
    st.session_state.links = query = state.elsewhere()
    for page in PAGES.values():
        st.page_link(page.file, label=t(f"{page.name}.link"), query_params=query)
    tour.start_button()
    lecture.button()
