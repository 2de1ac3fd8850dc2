"""A layer that keeps a state in the place of keys: the state over time."""

import streamlit as st

from ui.pages.attention_maps import controls
from ui.pages.attention_maps.view import View
from ui.parts import prose
from ui.parts.maps import over_time
from ui.parts.maps.over_time import facts
from ui.sources import Drawn
from ui.words.text import sentences, t


def title() -> str:
    """Return the title."""
    return t("attention_maps.title_state")


def draw(view: View) -> None:
    """Draw the state of a head that keeps one, in the place of a map."""
    with st.container(key="beside"):
        weights, state, side = st.columns((8, 8, 5), gap="medium")
    with side:
        controls.run()
        over_time.controls(view.maps)
    with weights:
        over_time.weights(view.maps)
    with state:
        over_time.after(view.maps)
    st.subheader(t("maps.state_title_changes"), anchor=False)
    with prose.refusals():
        over_time.changes(view.maps)
    over_time.listen(view.maps)


def question(_view: View) -> None:
    """Nothing is asked of a state."""


def refused(error: ValueError) -> None:
    """Draw in the place of the state why there is none, and the controls below."""
    prose.refused(error)
    controls.run()


def lead(view: View) -> tuple[str, str]:
    """Return the number of values that a head keeps, and the sentence about it."""
    said = facts(view.maps)
    return t("attention_maps.state_numbers", **said), t("attention_maps.state_line", **said)


def look(view: View) -> str:
    """Return the sentence on what to look at."""
    said = t("attention_maps.state_look")
    drawn = isinstance(view.maps.run.source, Drawn)
    return sentences((said, t("attention_maps.noise_state"))) if drawn else said
