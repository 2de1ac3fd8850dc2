"""The maps of a layer that has some: all heads, one of them, and the cell that is looked at."""

import streamlit as st

from ui.pages.real_models.view import View
from ui.parts import maps, prose


def cell(view: View) -> None:
    """The chosen cell by its words."""
    maps.controls.cell_controls(view.maps.run.words, view.maps.columns)


def maps_of(view: View, *under: str) -> None:
    """All heads at a glance, and the chosen one with the sentences below it."""
    heads, one_head = st.columns([7, 9], gap="medium")
    with heads:
        prose.say(maps.words.caption(view.maps))
        maps.charts.thumbnails(view.maps)
    with one_head:
        prose.say(maps.words.large(view.maps))
        maps.charts.large(view.maps)
        for sentence in under:
            prose.say(sentence)


def listen(view: View) -> None:
    """Clicks on them."""
    maps.controls.listen(view.maps)
