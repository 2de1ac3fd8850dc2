"""All heads of the model on the text, once the reader comes near; a click opens one above."""

from functools import partial

import streamlit as st

from ui.pages.real_models.view import View
from ui.parts import atlas, sections
from ui.words.text import t

HEIGHTS = 640, 680, 760  # pixels


def section(view: View) -> None:
    """Draw all heads once the reader comes near; their layers are read one after the other."""
    title = t("real_models.atlas_title")
    sections.later("atlas", partial(_section, view, title), HEIGHTS, title=title)


def _section(view: View, title: str) -> None:
    st.subheader(title, anchor=False)
    if found := atlas.all_heads(view.loaded, view.chosen):
        atlas.draw(found, (view.loaded.layer, view.maps.head), view.chosen)
