"""The widgets of the page after_mla: whose cache, in which type, at which context."""

import streamlit as st

from ui.pages.after_mla.settings import PASTED, STORY
from ui.parts import own_model
from ui.parts.control import control
from ui.parts.growth import LENGTHS
from ui.settings import state
from ui.words.text import t


def story() -> None:
    """One step of the story after another; a step chooses the model that it is told of."""
    s = state.settings()
    key = f"am_story:{s['lang']}"
    told = {} if s["am_own"] else {model: code for code, model in STORY.items()}
    st.session_state[key] = told.get(s["am_model"])

    def tell() -> None:
        if (code := st.session_state[key]) is not None:
            state.change(am_model=STORY[code], am_own="")

    st.segmented_control(
        t("after_mla.story"),
        list(STORY),
        format_func=lambda code: t(f"after_mla.step_{code}"),
        key=key,
        on_change=tell,
        label_visibility="collapsed",
    )


def draw() -> None:
    """The model and what its numbers are stored in."""
    control("am_model")
    with st.expander(t("after_mla.own"), expanded=bool(state.settings()["am_own"])):
        own_model.ask("am_own", PASTED)
    control("am_kv")


def context() -> None:
    """Draw the choice of how many tokens the cache holds."""
    control("am_context", options=[n for n in LENGTHS if 2**10 <= n <= 2**20])
