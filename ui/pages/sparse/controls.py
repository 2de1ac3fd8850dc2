"""The widgets of the page sparse."""

import streamlit as st

from ui.pages.sparse.settings import KEYS
from ui.pages.sparse.view import OWN, View
from ui.parts import sentences, trained_layer
from ui.parts.choice import choice
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

CONTEXTS = tuple(2**n for n in range(8, 18))


def keys() -> None:
    """How many keys each query reads."""
    label = t("sparse.keys")
    state.control(st.select_slider, label, "sp_keys", KEYS, format_func=count)


def query(view: View) -> None:
    """The word that asks."""
    last = len(view.words) - 1
    choice(
        st.selectbox,
        t("sparse.query"),
        "sp_back",
        last - view.query,
        range(last + 1),
        format_func=lambda back: f"{last - back + 1} · {view.words[last - back]}",
    )


def layer(view: View) -> None:
    """Whose indexer and heads are shown."""
    state.control(
        st.segmented_control,
        t("sparse.layer"),
        "sp_layer",
        range(view.trained.config.n_layers),
        format_func=count,
        required=True,
    )


def text() -> None:
    """The reader's own text; in another one the last word asks."""
    trained_layer.sentence(then=_at_the_end, own=OWN)
    sentences.row(then=_at_the_end)


def _at_the_end() -> None:
    state.change(sp_back=0)


def context() -> None:
    """Tokens that the published model has read."""
    label = t("sparse.context")
    state.control(st.select_slider, label, "sp_context", CONTEXTS, format_func=count)
