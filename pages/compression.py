"""Compression: from the weights of MHA's keys and values to one latent, and what it loses."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.compression import PAGE, as_mla, broken, errors, queries
from ui.pages.compression import view as compression
from ui.parts import one_cache, prose, questions, sections
from ui.words.numbers import count
from ui.words.text import t

with page.frame(PAGE) as frame:
    view, refused = compression.view(), None
    shown = broken if view.answers else errors
    prose.title(t("compression.title_answers" if view.answers else "compression.title"))
    try:
        with errors.factoring():
            lead = shown.lead(view)
        prose.lead(*lead, "" if view.answers else t("compression.look"))
        questions.ask(shown.question, view)
    except ValueError as refusal:
        refused = refusal
        prose.refused(refused)

    try:
        with st.container(key="beside"):
            shown.first(view, drawn=not refused)
        if not refused:
            if view.answers:
                layer = count(view.model.trained)
                st.subheader(t("compression.section_inside", layer=layer), anchor=False)
                heights, lit = (640, 1050, 1500), ("compression:errors", "compression:spectrum")
                sections.later("inside", partial(errors.inside, view), heights, holds=lit)
            st.subheader(t("compression.section_separate"), anchor=False)
            sections.later("separately", partial(errors.separately, view), (480, 480, 900))
            st.subheader(t("compression.section_mla"), anchor=False)
            sections.later("as_mla", partial(as_mla.section, view), (480, 480, 900))
    except ValueError as refusal:
        refused = refusal
        prose.refused(refusal)

    st.subheader(t("one_cache.title"), anchor=False)
    sections.later("one_cache", partial(one_cache.section, "cmp"), one_cache.HEIGHTS)
    st.subheader(t("compression.section_queries"), anchor=False)
    sections.later("queries", partial(queries.queries, view), (440, 480, 1050))
    frame.view = None if refused else view
