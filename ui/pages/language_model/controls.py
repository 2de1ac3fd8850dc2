"""The choice of the text and its examples, of the model, and of what is written next."""

import streamlit as st

from ui.pages.language_model.real.view import View as Real
from ui.pages.language_model.view import View, name
from ui.parts import links, reader
from ui.parts.control import control
from ui.settings import state
from ui.settings.page import Link
from ui.settings.parsers import MOST_WORDS, Setting, number, one_of, whole
from ui.sources import trained
from ui.sources.trained import VARIANTS
from ui.words.text import t

TEMPERATURES = (0.1, 0.2, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0)
MORE = (0, 5, 10, 20, 40)

SETTINGS = {
    "lm_model": Setting("mla", one_of(*VARIANTS), "segmented_control", another_model=True),
    "lm_temperature": Setting(
        1.0, number(0.1, 10), "select_slider", options=TEMPERATURES, write="{:g}".format
    ),
    "lm_pick": Setting("likeliest", one_of("likeliest", "drawn"), "segmented_control"),
    # Words from the end to the one that is lit.
    "lm_back": Setting(0, whole(0, MOST_WORDS - 1), "selectbox", "language_model.path"),
    # Pieces that the real model writes on.
    "lm_more": Setting(0, whole(0, MORE[-1]), "select_slider", options=MORE),
}
ONWARD = Link("decode"), Link("kv_cache")  # how a cache is used, and how large it grows


def text() -> None:
    """Draw the box for the reader's own text; of another one the last word's path is lit."""
    reader.sentence(then=at_the_end)


def at_the_end() -> None:
    """Light the path of the last word."""
    state.change(lm_back=0)


def writing(view: View) -> None:
    """Draw the button that writes the next word, and one for a text of each task."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        write(view, sentence=view.written())
        reader.examples(then=at_the_end)


def write(view: View | Real, **longer: str) -> None:
    """Draw the button that writes the next word.

    Args:
        view: of a text that one word more may not fit.
        longer: the setting that holds the text, with one word more.
    """
    st.button(
        t("language_model.write"),
        key="lm_write",
        type="primary",
        icon=":material/edit:",
        disabled=view.full,
        help=t("language_model.write_full") if view.full else None,
        on_click=state.change,
        kwargs=longer | {"lm_back": 0},
    )


def model() -> None:
    """Draw the choice of the model."""
    control("lm_model", options=trained.present(), write=name)


def layer(n_layers: int) -> None:
    """Draw the choice of the layer whose heads are shown."""
    control("layer", widget="slider", label=t("language_model.layer"), most=n_layers - 1)


def more() -> None:
    """Draw the choice of how many pieces are written on."""
    control("lm_more")


def path(view: View | Real) -> None:
    """Draw the choice of the word whose path is lit."""
    last = len(view.words) - 1
    control(
        "lm_back",
        options=range(last + 1),
        write=lambda back: f"{last - back + 1} · {view.words[last - back]}",
    )


def drawing() -> None:
    """Draw the choice of the temperature, and of which word is written."""
    control("lm_temperature")
    control("lm_pick")


def onward() -> None:
    """Draw the ways to the pages about caches."""
    with st.container(horizontal=True, gap="small"):
        for link in ONWARD:
            key = f"lm_{link.page}"
            st.button(links.name(link), key=key, on_click=links.follow, args=(link,))
