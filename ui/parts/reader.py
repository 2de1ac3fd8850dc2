"""Who reads on a page: the app's own real model, it with MLA, or one of the made-up language."""

import streamlit as st

from ui.engine import real_mla, real_model, trained_layer
from ui.settings import state
from ui.settings.opening import opening
from ui.settings.visit import visit
from ui.words.text import t


def choice() -> None:
    """Draw the choice between them where the real model is there, and say whose that is."""
    if not real_model.source():
        return
    key = f"reader:{state.settings()['lang']}"
    st.session_state[key] = _reader()

    def chosen() -> None:
        if reader := st.session_state[key]:
            _take(reader)

    st.segmented_control(
        t("reader.who"),
        ("real", *(["mla"] if real_mla.source() else []), "made_up"),
        key=key,
        format_func=lambda reader: t(f"reader.{reader}"),
        on_change=chosen,
        help=t("reader.help"),
    )
    if real_mla.reads():
        st.caption(t("reader.of_mla"))
    elif (
        real_model.reads() and not visit().page.real_layers
    ):  # where no line says whose layer it is
        licence()


def _reader() -> str | None:
    """Return which of them reads; None for none."""
    if real_model.reads():
        return "real"
    if real_mla.reads():
        return "mla"
    reads = not visit().page.sizes or trained_layer.chosen() is not None
    return "made_up" if reads and not state.source() else None


def _take(reader: str) -> None:
    """Let another one read; that with MLA reads what the real model does on the page."""
    if reader != "mla":
        state.choose_reader(made_up=reader == "made_up")
        return
    if not real_model.reads():
        state.choose_reader(made_up=False)
    same = {name: state.settings()[name] for name in opening()}
    state.change(source=real_mla.source(), revision="", activations="")
    state.change(**same)  # once they are no longer what the page opens with


def licence() -> None:
    """Say quietly whose the real model is, and that its weights are rounded."""
    st.caption(t("reader.licence"))
