"""What stands below the maps: the logits' parts, a number's origin, any tensor of the run."""

from functools import partial

import streamlit as st

from ui.pages.attention_maps import charts, controls, words
from ui.pages.attention_maps.view import View
from ui.parts import maps, prose, sections
from ui.parts.maps import entries
from ui.words.text import t

LOGITS = ("chart:scores_C", "chart:scores_R", "chart:scores")
PARTS, NUMBERS, ENTRIES = (570, 570, 2150), (760, 900, 1900), (730, 770, 1330)


def sections_of(view: View) -> None:
    """What is drawn once the reader comes near."""
    if view.maps.run.entries or view.maps.run.blocks:
        kind = "blocks" if view.maps.run.blocks else "entries"
        st.subheader(t(f"maps.{kind}_title"), anchor=False)
        sections.later("entries", partial(entries.draw, view.maps), ENTRIES)
    st.subheader(t("maps.parts_title"), anchor=False)
    sections.later("parts", partial(parts, view), PARTS, holds=LOGITS)
    origin = words.say(view, "origin_title")
    sections.later("numbers", partial(numbers, view), NUMBERS, title=origin)


def parts(view: View) -> None:
    """From logits to attention."""
    prose.say(words.parts(view))
    maps.charts.parts(view.maps)


def numbers(view: View) -> None:
    """Where the chosen cell's number comes from, and beside that any tensor."""
    origin, tensor = st.columns(2, gap="large")
    with origin:
        st.subheader(words.say(view, "origin_title"), anchor=False)
        prose.say(words.say(view, "origin_look"))
        words.origin(view)
    with tensor:
        tensor_of(view)


def tensor_of(view: View) -> None:
    """Any tensor of the run, with its formula."""
    st.subheader(t("attention_maps.tensors_title"), anchor=False)
    controls.tensor(view)
    st.latex(words.formula(view))
    prose.say(words.shape(view))
    charts.tensor(view)
