"""The small real model on its way is told in a corner, a damaged one above the title."""

import streamlit as st

from ui.settings.page import Page
from ui.settings.state import of_another_model
from ui.sources.small_model import AS_TRAINED
from ui.words.numbers import count
from ui.words.text import t

EVERY_SECONDS = 2


def tell_damage(page: Page) -> None:
    """Say that the page would open with the model, whose folder is damaged."""
    if page.opens is not dict and not of_another_model() and AS_TRAINED.damage():
        told = t("navigation.damaged", folder=AS_TRAINED.named())
        st.warning(told, icon=":material/info:")


def tell() -> None:
    """Draw a quiet line while it is fetched, which counts by itself."""
    if AS_TRAINED.pending:
        with st.container(key="fetching"):
            st.fragment(_line, run_every=EVERY_SECONDS)()


def _line() -> None:
    if not AS_TRAINED.pending:  # the page finds what has come
        st.rerun()
    done = count(round(100 * AS_TRAINED.share()))
    st.caption(t("navigation.fetching", share=t("common.percent", value=done)))
