"""The choice of a trained layer and of the sentence that it reads, and the line about both."""

from collections.abc import Callable

import streamlit as st

from mla_engine import mechanisms
from mla_engine.language_model import ModelConfig
from ui.engine import model, real_layer, trained, trained_layer
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import MOST_CHARACTERS, MOST_WORDS, TRAINED
from ui.settings.visit import visit
from ui.words.numbers import count
from ui.words.text import refusal, safe, t

SHOWN = 60  # characters of a sentence below the title


def badge() -> None:
    """Under the title: which layer reads which sentence, or that weights are drawn at random."""
    layer, page = trained_layer.chosen(), visit().page
    if not (page.trained and page.sizes) or real_layer.chosen():
        return
    if layer is None or page.drawn():
        with st.container(key="seeded", horizontal=True, vertical_alignment="center"):
            st.caption(_seeded(), width="content")
            _way_back()
    elif page.fresh_texts:
        st.caption(t("trained_layer.badge_fresh", layer=layer))
    else:
        read = " ".join(trained_layer.words())
        read = read if len(read) <= SHOWN else f"{read[:SHOWN]}…"
        st.caption(t("trained_layer.badge", layer=layer, text=safe(read)))


def _seeded() -> str:
    """Return the note that weights are random, and why where no trained model has the variant."""
    if not trained_layer.lacking():
        return t("trained_layer.seeded")
    kind = mechanisms.variants()[state.settings()["variant"]].kind
    return t("trained_layer.lacking", variant=kind)


def _way_back() -> None:
    if trained_layer.FIRST in trained.readable():
        label = t("trained_layer.take")
        st.button(label, key="take_trained", type="tertiary", on_click=model.take, args=(TRAINED,))


def layer_control() -> None:
    """Draw the choice of the trained models' layer."""
    st.caption(t("trained_layer.what"))
    control("trained_layer", options=range(trained.load(trained_layer.FIRST).config.n_layers))


def layer_beside() -> None:
    """The same close to a picture: a widget of its own, as a key stands once on a page."""
    key = f"trained_layer_beside:{state.settings()['lang']}"
    st.session_state[key] = state.settings()["trained_layer"]
    st.segmented_control(
        t("trained_layer.layer"),
        range(trained.load(trained_layer.FIRST).config.n_layers),
        key=key,
        format_func=count,
        required=True,
        on_change=lambda: state.change(trained_layer=st.session_state[key]),
    )


def sentence(then: Callable[[], object] = lambda: None, own: str = trained.OWN) -> None:
    """The text that the models read; one that they cannot read stays only in the box.

    Args:
        then: runs after a text that they can.
        own: what they read where the box is empty.
    """
    config = trained.load(trained_layer.FIRST).config
    kept = state.settings()["sentence"]
    shown = getattr(kept, "typed", kept)

    def keep(typed: str) -> None:
        good = not _refused(config, typed)
        state.change(sentence=typed if good else state.Kept.beside(kept, typed))
        if good:
            then()

    control(
        "sentence",
        label=t("trained_layer.text", words=count(MOST_WORDS), all=count(len(config.words))),
        shown=shown,
        placeholder=own,
        height=80,
        max_chars=MOST_CHARACTERS,
        help=t("trained_layer.vocabulary", words=safe(" ".join(config.words))),
        keep=keep,
    )
    if reason := _refused(config, shown):
        st.error(t("common.refused", reason=safe(reason)), icon=":material/block:")


def _refused(config: ModelConfig, typed: str) -> str:
    """Return why the models cannot read a text; empty if they can."""
    try:
        trained.tokens(config, typed)
    except ValueError as error:
        return refusal(error)
    return ""
