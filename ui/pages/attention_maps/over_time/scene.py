"""The page of a layer that keeps a state."""

from functools import partial

import streamlit as st

from ui.pages.attention_maps import below, controls
from ui.pages.attention_maps import view as views
from ui.pages.attention_maps.over_time import controls as own
from ui.pages.attention_maps.over_time import draw, words
from ui.pages.attention_maps.view import View
from ui.parts import prose, sections
from ui.words.text import t

CHANGES, TENSOR = (620, 640, 1300), (720, 720, 800)  # pixels, see sections


def scene() -> View | None:
    """The state of a head that keeps one, in the place of a map."""
    prose.title(t("attention_maps.title_state"))
    try:
        view = views.view()
    except ValueError as refusal:
        prose.refused(refusal)
        controls.run()
        return None
    prose.lead(*words.lead(view.maps), words.look(view.maps))
    with st.container(key="beside"):
        weights, state, side = st.columns((8, 8, 5), gap="medium")
    with side:
        controls.run()
        own.words(view.maps)
    with weights:
        draw.weights(view.maps)
    with state:
        draw.state(view.maps)
    st.subheader(t("attention_maps.state_title_changes"), anchor=False)
    sections.later("changes", partial(draw.changes, view.maps), CHANGES)
    sections.later("tensor", partial(below.tensor_of, view), TENSOR)
    own.listen(view.maps)
    return view
