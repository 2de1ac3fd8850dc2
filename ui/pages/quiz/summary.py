"""The end of a set: how many were right, which were not, and the pages to read again."""

import streamlit as st

from ui.pages.quiz import controls, places, words
from ui.pages.quiz.view import View
from ui.parts import links
from ui.words.text import listed, t


def draw(here: View) -> None:
    """Every question that was not predicted right, and a way to each page that shows them."""
    missed = here.missed
    if not missed:
        st.success(t("quiz.all_right"), icon=":material/check_circle:")
    else:
        st.html(words.missed(here))
        st.subheader(t("quiz.read_again"), anchor=False)
        with st.container(key="quiz_pages", horizontal=True):
            for link, numbers in places.again(here.questions, missed):
                label = t("quiz.read", page=links.name(link), numbers=listed(map(str, numbers)))
                key = f"quiz_read_{link.page}"
                st.button(label, key=key, on_click=links.follow, args=(link,))
    st.button(t("quiz.back"), icon=":material/arrow_back:", on_click=controls.turn, args=(here, -1))
