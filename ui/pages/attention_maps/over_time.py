"""The page of a layer that keeps a state in the place of keys."""

import streamlit as st

from ui.pages.attention_maps import controls, tensor
from ui.pages.attention_maps import view as views
from ui.pages.attention_maps.view import View
from ui.parts import prose
from ui.parts.maps import over_time
from ui.parts.maps.over_time import facts
from ui.parts.maps.view import Maps
from ui.sources import Drawn
from ui.words.text import sentences, t


def scene() -> View | None:
    """The state of a head that keeps one, in the place of a map."""
    prose.title(t("attention_maps.title_state"))
    try:
        view = views.view()
    except ValueError as refusal:
        prose.refused(refusal)
        controls.run()
        return None
    prose.lead(*lead(view.maps), look(view.maps))
    controls.who_reads()
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
    with prose.refusals():
        tensor.draw(view)
    over_time.listen(view.maps)
    return view


def lead(maps: Maps) -> tuple[str, str]:
    """Return the number of values that a head keeps, and the sentence about it."""
    said = facts(maps)
    return t("attention_maps.state_numbers", **said), t("attention_maps.state_line", **said)


def look(maps: Maps) -> str:
    """Return the sentence on what to look at."""
    said = t("attention_maps.state_look")
    drawn = isinstance(maps.run.source, Drawn)
    return sentences((said, t("attention_maps.noise_state"))) if drawn else said
