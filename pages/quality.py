"""Quality: what a smaller cache costs in answers, measured on small models trained here."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.quality import PAGE, charts, controls, words
from ui.pages.quality.view import view
from ui.parts import prose, questions, sections
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("quality.title"))
    try:
        shown = view()
    except ValueError as refusal:
        shown = None
        prose.refused(refusal)

    if shown:
        prose.lead(*words.lead(shown), t("quality.look"))
        questions.ask(charts.question, shown)
        for damaged in shown.study.refused:
            prose.refused(damaged)
        picture, choices = st.columns([7, 3], gap="large")
        with choices:
            controls.draw(shown)
            with st.container(key="quality_verdict"):
                prose.say(words.findings(shown))
            prose.note(words.caveat(shown))
        with picture, st.container(key="quality_picture"):
            if shown.caches:
                charts.by_cache(shown)
            else:
                st.info(t("quality.nothing"), icon=":material/model_training:")
        if shown.caches:
            st.subheader(t("quality.section_load"), anchor=False)
            sections.later("quality_load", partial(charts.by_load, shown), (480, 480, 480))
            st.subheader(t("quality.section_distance"), anchor=False)
            prose.say(t("quality.distance_words"))
            sections.later("quality_distance", partial(charts.by_distance, shown), (480, 480, 480))
            st.subheader(t("quality.section_loss"), anchor=False)
            prose.say(t("quality.loss_words"))
            sections.later("quality_loss", partial(charts.losses, shown), (480, 480, 480))
            st.subheader(t("quality.section_staircase"), anchor=False)
            prose.say(t("quality.staircase_words"))
            sections.later("quality_staircase", partial(charts.staircase, shown), (500, 500, 560))
        st.subheader(t("quality.section_runs"), anchor=False)
        sections.later("quality_runs", partial(charts.not_run, shown), (420, 420, 620))
    frame.view = shown
