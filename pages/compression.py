"""Compression: from the weights of MHA's keys and values to one latent, and what it loses."""

import streamlit as st

from ui.frame import page
from ui.pages.compression import PAGE, charts, controls, run, words
from ui.pages.compression import view as compression
from ui.parts import prose
from ui.words.text import t

page.setup(PAGE)
prose.title(t("compression.title"))
view, refused = compression.view(), None
try:
    with st.spinner(t("compression.factoring")):
        lead = words.lead(view)
    prose.lead(*lead, t("compression.look"))
except ValueError as refusal:
    refused = refusal
    prose.refused(refused)

picture, spectrum, panel = st.columns([6, 5, 4], gap="medium")
with panel:
    controls.layer(view)
if not refused:
    try:
        with panel:
            charts.numbers(view)
        with spectrum:
            charts.spectrum(view)
        with picture:
            controls.rank(view)
            curves = run.curves(view.source, view.words, view.fixed_ranks, view.rank)
            charts.over_rank(view, curves)
        st.subheader(t("compression.section_separate"), anchor=False)
        charts.separately(view, curves)
    except ValueError as refusal:
        refused = refusal
        prose.refused(refusal)

st.subheader(t("compression.section_queries"), anchor=False)
try:
    charts.queries(view)
except ValueError as refusal:
    prose.refused(refusal)
page.footer(None if refused else view)
