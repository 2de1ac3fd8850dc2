"""The widgets of the page after_mla: whose cache, in which type, at which context."""

import streamlit as st

from mla_engine.model_caches import MODELS
from ui.pages.after_mla.settings import PASTED, TYPES
from ui.parts import counted_model
from ui.parts.growth import LENGTHS
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t


def draw() -> None:
    """The model and what its numbers are stored in."""
    state.control(
        st.selectbox,
        t("after_mla.model"),
        "am_model",
        list(MODELS),
        format_func=lambda key: MODELS[key].name,
    )
    with st.expander(t("after_mla.own"), expanded=bool(state.settings()["am_own"])):
        counted_model.ask("am_own", PASTED)
    state.control(
        st.segmented_control,
        t("after_mla.kv"),
        "am_kv",
        list(TYPES),
        format_func=lambda code: t(f"after_mla.kv_{code}"),
        required=True,
    )


def context() -> None:
    """How many tokens the cache holds."""
    lengths = [n for n in LENGTHS if 2**10 <= n <= 2**20]
    state.control(
        st.select_slider, t("after_mla.context"), "am_context", lengths, format_func=count
    )
