"""What stands below the maps: the logits' parts, a number's origin, any tensor of the run."""

import streamlit as st

from ui.pages.attention_maps import charts, controls, words
from ui.pages.attention_maps.view import View
from ui.parts import maps, prose
from ui.words.text import t


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
        st.subheader(t("attention_maps.tensors_title"), anchor=False)
        controls.tensor(view)
        st.latex(words.formula(view))
        prose.say(words.shape(view))
        charts.tensor(view)
