"""Compression: from the weights of MHA's keys and values to one latent, and what it loses."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.compression import PAGE, charts, controls, guess, words
from ui.pages.compression import view as compression
from ui.parts import prose, sections
from ui.parts.guess import card
from ui.words.text import t

page.setup(PAGE)
prose.title(t("compression.title"))
view, refused = compression.view(), None
try:
    with st.spinner(t("compression.factoring")):
        lead = words.lead(view)
    prose.lead(*lead, t("compression.look"))
    card.ask(guess.question(view))
except ValueError as refusal:
    refused = refusal
    prose.refused(refused)

with st.container(key="beside"):
    picture, spectrum, panel = st.columns([6, 5, 4], gap="medium")
with panel:
    controls.layer(view)
if not refused:
    try:
        with panel, st.container(key="compression_numbers"):
            charts.numbers(view)
        with spectrum:
            charts.spectrum(view)
        with picture:
            controls.rank(view)
            charts.over_rank(view)
        st.subheader(t("compression.section_separate"), anchor=False)
        sections.later("separately", partial(charts.separately, view), (480, 480, 900))
    except ValueError as refusal:
        refused = refusal
        prose.refused(refusal)

st.subheader(t("compression.section_queries"), anchor=False)
sections.later("queries", partial(charts.queries, view), (440, 480, 1050))
page.footer(None if refused else view)
