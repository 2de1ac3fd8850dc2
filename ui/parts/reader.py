"""Who reads on a page: the app's own real model, or a model of the made-up language."""

import streamlit as st

from ui.engine import real_mla, real_model, trained_layer
from ui.settings import state
from ui.settings.opening import opening
from ui.settings.visit import visit
from ui.words.text import t


def choice() -> None:
    """Draw the choice between the two where the real model is there, and say whose that is."""
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
        help=t("reader.help"),
    )
    if real_model.reads() and not visit().page.real_layers:  # where no line says whose layer it is
        licence()
    _with_mla()


def _with_mla() -> None:
    """Draw the way from the real model to the one with MLA that is made of it."""
    if real_mla.reads():
        st.caption(t("reader.of_mla"))
    elif real_mla.source() and real_model.reads():
        st.button(t("reader.with_mla"), on_click=_take_mla, help=t("reader.of_mla"))


def _take_mla() -> None:
    """Let the model with MLA read what the other one does: the text, layer and head stay."""
    same = {name: state.settings()[name] for name in opening()}
    state.change(source=real_mla.source(), revision="", activations="")
    state.change(**same)  # once they are no longer what the page opens with


def _made_up() -> bool | None:
    """Tell which of them reads; None for neither."""
    if real_model.reads():
        return False
    reads = not visit().page.sizes or trained_layer.chosen() is not None
    return True if reads and not state.source() else None


def licence() -> None:
    """Say quietly whose the real model is, and that its weights are rounded."""
    st.caption(t("reader.licence"))
