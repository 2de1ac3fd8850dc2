"""Trained heads: what they look at, and which answers break without one."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.trained_heads import PAGE, charts, controls, words
from ui.pages.trained_heads.view import view
from ui.parts import prose, sections
from ui.words.text import t

page.setup(PAGE)
prose.title(t("trained_heads.title"))
shown = None
try:
    with st.spinner(t("trained_heads.running")):
        shown = view()
        lead = shown and words.lead(shown)
except ValueError as refusal:
    prose.refused(refusal)
else:
    if shown is None:
        st.info(t("trained_heads.none"), icon=":material/model_training:")
    else:
        prose.lead(*lead, words.look(shown))
        heads, cut = st.columns([5, 4], gap="medium")
        with heads:
            controls.model(shown)
            charts.table(shown)
        with cut:
            controls.head(shown)
            controls.cut(shown)
            charts.answers(shown)
        st.subheader(t("trained_heads.section_map"), anchor=False)
        sections.later("head_map", partial(charts.beside, shown), (620, 620, 900))
        if len(shown.steps) > 1:
            st.subheader(t("trained_heads.section_training"), anchor=False)
            sections.later("training", partial(charts.training, shown), (380, 380, 760))
page.footer(shown)
