"""Compute: what every variant and form costs, on which side of a device's ridge, and from where."""

import streamlit as st

from ui.frame import page
from ui.pages.compute import PAGE, after, crossings, measuring, roof
from ui.pages.compute.view import controls, view
from ui.parts import prose, questions, ways
from ui.settings import state
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(roof.title(state.settings()["cost_phase"]))
    try:
        shown, error = view(), None
    except ValueError as refusal:
        shown, error = None, refusal

    if shown:
        prose.lead(*roof.lead(shown), roof.look(shown))
        questions.ask(roof.question, shown)
    else:
        prose.refused(error)

    picture, choices = st.columns([7, 3], gap="large")
    with choices:
        controls()
    if shown:
        with choices:
            prose.note(roof.source(shown))
        with picture:
            roof.roof(shown)
        st.table(roof.ways(shown))
        prose.note(roof.counted(shown))
        prose.say(ways.assumed(shown.model, shown.latent))

        st.subheader(t("compute.bytes_title"), anchor=False)
        with prose.refusals():
            roof.bytes_moved(shown)
        with prose.refusals():
            crossings.turns(shown)
        with st.container(key="place_choosing"), prose.refusals():
            after.choosing(shown)
        st.subheader(t("compute.products_title"), anchor=False)
        with prose.refusals():
            after.products(shown)
        st.subheader(t("compute.over_title"), anchor=False)
        with st.container(key="place_over"), prose.refusals():
            after.over_contexts(shown)

        st.subheader(t("compute.measure_title"), anchor=False)
        prose.say(t("compute.measure_look"))
        measuring.draw(shown)

    with st.expander(t("compute.sources")):
        st.table(roof.devices())
    frame.view = shown
