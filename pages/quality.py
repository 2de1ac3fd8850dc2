"""Quality: what a smaller cache costs in answers, measured on small models trained here."""

import streamlit as st

from ui.frame import page
from ui.pages.quality import PAGE, curves, verdict
from ui.pages.quality.staircase import not_run, staircase
from ui.pages.quality.view import controls, view
from ui.parts import one_cache, prose, questions
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
            with prose.refusals():
                curves.by_load(shown)
            st.subheader(t("quality.section_distance"), anchor=False)
            prose.say(t("quality.distance_words"))
            with prose.refusals():
                curves.by_distance(shown)
            st.subheader(t("quality.section_loss"), anchor=False)
            prose.say(t("quality.loss_words"))
            with prose.refusals():
                curves.losses(shown)
            st.subheader(t("quality.section_staircase"), anchor=False)
            prose.say(t("quality.staircase_words"))
            with prose.refusals():
                staircase(shown)
        st.subheader(t("one_cache.title"), anchor=False)
        with prose.refusals():
            one_cache.section("quality")
        st.subheader(t("quality.section_runs"), anchor=False)
        with st.container(key="quality_verdict"):
            prose.say(verdict.verdict(shown))
        prose.note(verdict.caveat(shown))
        with prose.refusals():
            not_run(shown)
    frame.view = shown
