"""Who reads on a page: the app's own real model, or a model of the made-up language."""

import streamlit as st

from ui.engine import real_model, trained_layer
from ui.settings import state
from ui.settings.visit import visit
from ui.words.text import t


def choice() -> None:
    """Draw the choice between the two, and whose the real model is, where that model is there."""
    if not real_model.source():
        return
    key = f"made_up:{state.settings()['lang']}"
    st.session_state[key] = _made_up()

    def chosen() -> None:
        if isinstance(made_up := st.session_state[key], bool):
            state.choose_reader(made_up=made_up)

    st.segmented_control(
        t("reader.who"),
        (False, True),
        key=key,
        format_func=lambda made_up: t(f"reader.{'made_up' if made_up else 'real'}"),
        on_change=chosen,
    )
    if real_model.reads():
        licence()


def _made_up() -> bool | None:
    """Tell which of them reads; None for neither."""
    if real_model.reads():
        return False
    reads = not visit().page.sizes or trained_layer.chosen() is not None
    return True if reads and not state.source() else None


def licence() -> None:
    """Say quietly whose the real model is, and that its weights are rounded."""
    st.caption(t("reader.licence"))
