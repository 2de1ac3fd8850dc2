"""Compute: what every variant and form costs, on which side of a device's ridge, and from where."""

import streamlit as st

from ui.frame import page
from ui.pages.compute import PAGE, charts, controls
from ui.pages.compute import view as compute_page
from ui.pages.compute import words as say
from ui.parts import prose, ways
from ui.words.text import t

page.setup(PAGE)
try:
    shown, error = compute_page.scene(), None
except ValueError as refusal:
    shown, error = None, refusal

if shown:
    prose.title(say.title(shown), t("compute.look"))
else:
    prose.title(t("compute.title_refused"), "")
    prose.refused(error)

picture, choices = st.columns([7, 3], gap="large")
with choices:
    controls.draw()
if shown:
    with choices:
        st.caption(say.source(shown))
    with picture:
        charts.roof(shown)
    st.table(say.costs_table(shown))
    st.caption(say.counted(shown))
    st.markdown(ways.assumed(shown.latent))

    st.subheader(t("compute.bytes_title"), anchor=False)
    st.markdown(t("compute.bytes_look"))
    charts.byte_bars(shown)

    expanding, turning = st.columns(2, gap="large")
    with expanding:
        st.subheader(t("compute.expand_title"), anchor=False)
        prose.say(say.expansion(shown))
        charts.expansion(shown)
    with turning:
        st.subheader(t("compute.turn_title"), anchor=False)
        st.markdown(say.turning(shown))
        charts.turning(shown)
        st.markdown(say.batches(shown))

    st.subheader(t("compute.measure_title"), anchor=False)
    st.markdown(t("compute.measure_look"))
    charts.measured(shown)

with st.expander(t("compute.sources")):
    st.table(say.devices())
page.footer(shown)
