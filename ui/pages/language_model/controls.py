"""The controls of the page: the text and its examples, the model, what is written next."""

import streamlit as st

from ui.engine import trained
from ui.pages.language_model import words
from ui.pages.language_model.view import View
from ui.parts import links, sentences, trained_layer
from ui.settings import state
from ui.settings.page import Link
from ui.words.text import t

TEMPERATURES = (0.1, 0.2, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0)
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
    state.control(
        st.segmented_control,
        t("language_model.model"),
        "lm_model",
        trained.present(),
        format_func=words.name,
        required=True,
    )


def path(view: View) -> None:
    """The word whose path is lit."""
    last = len(view.words) - 1
    state.control(
        st.selectbox,
        t("language_model.path"),
        "lm_back",
        range(last + 1),
        format_func=lambda back: f"{last - back + 1} · {view.words[last - back]}",
    )


def drawing() -> None:
    """Temperature, and which word is written."""
    state.control(
        st.select_slider,
        t("language_model.temperature"),
        "lm_temperature",
        sorted({*TEMPERATURES, state.settings()["lm_temperature"]}),
        format_func=lambda value: f"{value:g}",
    )
    state.control(
        st.segmented_control,
        t("language_model.pick"),
        "lm_pick",
        ("likeliest", "drawn"),
        format_func=lambda code: t(f"language_model.pick_{code}"),
        required=True,
    )


def onward() -> None:
    """To the pages about caches."""
    with st.container(horizontal=True, gap="small"):
        for link in ONWARD:
            key = f"lm_{link.page}"
            st.button(links.name(link), key=key, on_click=links.follow, args=(link,))
