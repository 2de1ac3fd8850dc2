"""Compression: from the weights of MHA's keys and values to one latent, and what it loses."""

import streamlit as st

from ui.frame import page
from ui.pages.compression import PAGE, as_mla, broken, errors, queries
from ui.pages.compression import view as compression
from ui.parts import one_cache, prose, questions
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
                layer = count(view.model.source.layer)
                st.subheader(t("compression.section_inside", layer=layer), anchor=False)
                with prose.refusals():
                    errors.inside(view)
            st.subheader(t("compression.section_separate"), anchor=False)
            with prose.refusals():
                errors.separately(view)
            st.subheader(t("compression.section_mla"), anchor=False)
            with prose.refusals():
                as_mla.section(view)
    except ValueError as refusal:
        refused = refusal
        prose.refused(refusal)

    st.subheader(t("one_cache.title"), anchor=False)
    with prose.refusals():
        one_cache.section("cmp")
    st.subheader(t("compression.section_queries"), anchor=False)
    with prose.refusals():
        queries.queries(view)
    frame.view = None if refused else view
