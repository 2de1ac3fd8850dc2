"""From logits to attention: the parts of a map's logits, their sum, and what the softmax makes."""

import streamlit as st

from ui.pages.attention_maps import controls, words
from ui.pages.attention_maps.view import READ, RUN, View, is_whole
from ui.parts import maps, prose
from ui.parts.maps.view import CELL
from ui.settings.page import Panel
from ui.words.text import t


def draw(view: View) -> None:
    """Draw them side by side."""
    with st.container(key="logits"):
        prose.say(words.parts(view))
        maps.charts.parts(view.maps)


PANEL = Panel(
    name="logits",
    settings=(*RUN, *READ, *CELL),
    there=is_whole,
    alone=controls.alone,
    title=lambda _view: t("maps.parts_title"),
    draw=draw,
)
