"""Quality: what a smaller cache costs in answers, measured on small models trained here."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.quality import PAGE, curves, verdict
from ui.pages.quality.staircase import not_run, staircase
from ui.pages.quality.view import controls, view
from ui.parts import one_cache, prose, questions, sections
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("quality.title"))
    try:
        shown = view()
    except ValueError as refusal:
        shown = None
        prose.refused(refusal)

    if shown:
        prose.lead(*verdict.lead(shown))
        questions.ask(verdict.question, shown)
        for damaged in shown.study.refused:
            prose.refused(damaged)
        picture, choices = st.columns([7, 3], gap="large")
        with choices:
            controls(shown)
            with st.container(key="quality_below"):
                prose.say(verdict.below(shown))
        with picture, st.container(key="quality_picture"):
            if shown.caches:
                curves.by_cache(shown)
            else:
                st.info(t("quality.nothing"), icon=":material/model_training:")
        if shown.caches:
            st.subheader(t("quality.section_load"), anchor=False)
            sections.later("quality_load", partial(curves.by_load, shown), (480, 480, 480))
            st.subheader(t("quality.section_distance"), anchor=False)
            prose.say(t("quality.distance_words"))
            sections.later("quality_distance", partial(curves.by_distance, shown), (480, 480, 480))
            st.subheader(t("quality.section_loss"), anchor=False)
            prose.say(t("quality.loss_words"))
            sections.later("quality_loss", partial(curves.losses, shown), (480, 480, 480))
            st.subheader(t("quality.section_staircase"), anchor=False)
            prose.say(t("quality.staircase_words"))
            sections.later("quality_staircase", partial(staircase, shown), (500, 500, 560))
        st.subheader(t("one_cache.title"), anchor=False)
        sections.later("one_cache", partial(one_cache.section, "quality"), one_cache.HEIGHTS)
        st.subheader(t("quality.section_runs"), anchor=False)
        with st.container(key="quality_verdict"):
            prose.say(verdict.verdict(shown))
        prose.note(verdict.caveat(shown))
        sections.later("quality_runs", partial(not_run, shown), (420, 420, 620))
    frame.view = shown
