"""The controls of the page: the text and its examples, the model, what is written next."""

import streamlit as st

from ui.engine import trained
from ui.pages.language_model import words
from ui.pages.language_model.view import View
from ui.parts import links, sentences, trained_layer
from ui.parts.control import control
from ui.settings import state
from ui.settings.page import Link
from ui.words.text import t

ONWARD = Link("decode"), Link("kv_cache")  # how a cache is used, and how large it grows


def text() -> None:
    """The reader's own text; after another one the last word's path is lit."""
    trained_layer.sentence(then=_at_the_end)


def _at_the_end() -> None:
    state.change(lm_back=0)


def writing(view: View) -> None:
    """The button that writes the next word, and a text of each task in place of this one."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _write(view)
        sentences.buttons(then=_at_the_end)


def _write(view: View) -> None:
    st.button(
        t("language_model.write"),
        key="lm_write",
        type="primary",
        icon=":material/edit:",
        disabled=view.full,
        help=t("language_model.write_full") if view.full else None,
        on_click=state.change,
        kwargs={"sentence": view.written(), "lm_back": 0},
    )


def model() -> None:
    """Which of the models that there are."""
    control("lm_model", options=trained.present(), write=words.name)


def path(view: View) -> None:
    """The word whose path is lit."""
    last = len(view.words) - 1
    control(
        "lm_back",
        options=range(last + 1),
        write=lambda back: f"{last - back + 1} · {view.words[last - back]}",
    )


def drawing() -> None:
    """Temperature, and which word is written."""
    control("lm_temperature")
    control("lm_pick")


def onward() -> None:
    """To the pages about caches."""
    with st.container(horizontal=True, gap="small"):
        for link in ONWARD:
            key = f"lm_{link.page}"
            st.button(links.name(link), key=key, on_click=links.follow, args=(link,))
