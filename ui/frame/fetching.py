"""The small real model on its way is told in a corner, a damaged one above the title."""

import streamlit as st

from ui.engine import real_model
from ui.settings.opening import of_another_model
from ui.settings.page import Page
from ui.words.numbers import count
from ui.words.text import t

EVERY_SECONDS = 2


def tell_damage(page: Page) -> None:
    """Say that the page would open with the model, whose folder is damaged."""
    if page.opens is not dict and not of_another_model() and real_model.damage():
        told = t("navigation.damaged", folder=real_model.named())
        st.warning(told, icon=":material/info:")


def tell() -> None:
    """Draw a quiet line while it is fetched, which counts by itself."""
    if real_model.pending():
        with st.container(key="fetching"):
            st.fragment(_line, run_every=EVERY_SECONDS)()


def _line() -> None:
    if not real_model.pending():  # the page finds what has come
        st.rerun()
    done = count(round(100 * real_model.share()))
    st.caption(t("navigation.fetching", share=t("common.percent", value=done)))
