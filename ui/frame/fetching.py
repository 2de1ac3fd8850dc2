"""One quiet line in a corner while the small real model is fetched, which counts by itself."""

import streamlit as st

from ui.engine import real_model
from ui.words.numbers import count
from ui.words.text import t

EVERY_SECONDS = 2


def tell() -> None:
    """Draw the line, where there is something to tell."""
    if real_model.pending():
        with st.container(key="fetching"):
            st.fragment(_line, run_every=EVERY_SECONDS)()


def _line() -> None:
    if not real_model.pending():  # the page finds what has come
        st.rerun()
    done = count(round(100 * real_model.share()))
    st.caption(t("navigation.fetching", share=t("common.percent", value=done)))
