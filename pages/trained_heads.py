"""Trained heads: what they look at, and which answers break without one."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.trained_heads import PAGE, charts, controls, words
from ui.pages.trained_heads.ahead import ahead
from ui.pages.trained_heads.view import view
from ui.parts import prose, sections
from ui.words.text import t

with page.frame(PAGE) as frame:
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
            with cut:  # what a press changes is drawn first
                controls.head(shown)
                controls.cut(shown)
                if not shown.beside:
                    charts.verdicts(shown)
                    charts.answers(shown)
            with heads:
                controls.model(shown)
                if not shown.beside:
                    charts.tables(shown)
                controls.others(shown)
            if shown.beside:  # needs the whole width
                charts.verdicts(shown)
                charts.answers(shown)
                charts.tables(shown)
            st.subheader(t("trained_heads.section_map"), anchor=False)
            sections.later("head_map", partial(charts.beside, shown), (620, 620, 900))
            if len(shown.steps) > 1:
                st.subheader(t("trained_heads.section_training"), anchor=False)
                sections.later("training", partial(charts.training, shown), (380, 380, 760))
    frame.view = shown
if shown and sections.watched():
    ahead(shown)
