"""Heads: what those of a real model do, or what breaks in a trained one without some of them."""

import streamlit as st

from ui.frame import page
from ui.pages.trained_heads import PAGE, answers, head_map, heads, real, training
from ui.pages.trained_heads.view import view
from ui.parts import prose, reader
from ui.settings.visit import is_watched
from ui.sources import checkpoint
from ui.sources.small_model import AS_TRAINED
from ui.words.text import t

with page.frame(PAGE) as frame:
    shown, whole = None, None
    if checkpoint.chosen() or AS_TRAINED.reads():
        prose.title(t("trained_heads.real_title"))
        try:
            whole = real.view()
        except ValueError as refusal:
            prose.refused(refusal)
        if whole:
            real.lead(whole)
            real.all_heads(whole)
        real.text()
        if whole:
            real.one_head(whole)
    else:
        prose.title(t("trained_heads.title"))
        reader.choice()
        try:
            with st.spinner(t("trained_heads.running")):
                shown = view()
                lead = shown and answers.lead(shown)
        except ValueError as refusal:
            prose.refused(refusal)
        else:
            if shown is None:
                st.info(t("trained_heads.none"), icon=":material/model_training:")
            else:
                prose.lead(*lead, heads.look(shown))
                left, right = st.columns([5, 4], gap="medium")
                with right:  # what a press changes is drawn first
                    heads.head_control(shown)
                    answers.controls(shown)
                    if not shown.beside:
                        answers.draw(shown)
                with left:
                    heads.model_control(shown)
                    if not shown.beside:
                        heads.draw(shown)
                    heads.other_controls(shown)
                if shown.beside:  # needs the whole width
                    answers.draw(shown)
                    heads.draw(shown)
                st.subheader(t("trained_heads.section_map"), anchor=False)
                with prose.refusals():
                    head_map.draw(shown)
                if len(shown.steps) > 1:
                    st.subheader(t("trained_heads.section_training"), anchor=False)
                    with prose.refusals():
                        training.draw(shown)
    frame.view = whole or shown
if shown and is_watched():
    answers.ahead(shown)
