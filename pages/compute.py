"""Compute: what every variant and form costs, on which side of a device's ridge, and from where."""

import streamlit as st

from ui.frame import page
from ui.pages.compute import PAGE, charts, controls, measuring, tables, words
from ui.pages.compute.view import view
from ui.parts import prose, ways
from ui.settings import state
from ui.words.text import t

page.setup(PAGE)
prose.title(t(f"compute.title_{state.settings()['cost_phase']}"))
try:
    shown, error = view(), None
except ValueError as refusal:
    shown, error = None, refusal

if shown:
    prose.lead(*words.lead(shown), t("compute.look"))
else:
    prose.refused(error)

picture, choices = st.columns([7, 3], gap="large")
with choices:
    controls.draw()
if shown:
    with choices:
        st.caption(words.source(shown))
    with picture:
        charts.roof(shown)
    st.table(tables.ways(shown))
    st.caption(words.counted(shown))
    st.markdown(ways.assumed(shown.model, shown.latent))

    st.subheader(t("compute.bytes_title"), anchor=False)
    st.markdown(t("compute.bytes_look"))
    charts.byte_bars(shown)

    expanding, turning = st.columns(2, gap="large")
    with expanding:
        st.subheader(t("compute.expand_title"), anchor=False)
        prose.say(words.expansion(shown))
        charts.expansion(shown)
    with turning:
        st.subheader(t("compute.turn_title"), anchor=False)
        st.markdown(words.turning(shown))
        charts.turning(shown)
        st.markdown(words.batches(shown))

    st.subheader(t("compute.measure_title"), anchor=False)
    st.markdown(t("compute.measure_look"))
    measuring.draw(shown)

with st.expander(t("compute.sources")):
    st.table(tables.devices())
page.footer(shown)
