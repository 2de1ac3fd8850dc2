"""All heads of the model on the text; a click opens one above."""

import streamlit as st

from ui.pages.real_models.view import View
from ui.parts import atlas, prose
from ui.words.text import t


def section(view: View) -> None:
    """Draw all heads; their layers are read one after the other."""
    st.subheader(t("real_models.atlas_title"), anchor=False)
    with prose.refusals():
        if found := atlas.all_heads(view.loaded, view.chosen):
            atlas.draw(found, (view.loaded.layer, view.maps.head), view.chosen)
