"""Compression: from the weights of MHA's keys and values to one latent, and what it loses."""

import streamlit as st

from ui.frame import page
from ui.pages.compression import PAGE
from ui.pages.compression import charts as compression_charts
from ui.pages.compression import view as compression
from ui.parts import prose
from ui.words.text import t

page.setup(PAGE)
view, error = None, None
try:
    view = compression.view()
    with st.spinner(t("compression.factoring")):
        title = view.title()
except ValueError as refusal:
    title, error = t("compression.title_refused"), refusal
prose.title(title, t("compression.look"))
if error:
    prose.refused(error)

picture, spectrum, controls = st.columns([6, 5, 4], gap="medium")
with controls:
    compression_charts.controls()
if view and not error:
    with controls:
        compression_charts.numbers(view)
    with spectrum:
        compression_charts.spectrum(view)
    with picture:
        compression_charts.rank(view)
        curves = view.curves()
        compression_charts.errors(view, curves)
    st.subheader(t("compression.section_separate"), anchor=False)
    compression_charts.separately(view, curves)

st.subheader(t("compression.section_queries"), anchor=False)
try:
    compression_charts.queries()
except ValueError as refusal:
    prose.refused(refusal)
page.footer(view)
