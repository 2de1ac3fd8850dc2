"""Absorption: the order of multiplication, the merged matrices, and what must not be merged."""

import streamlit as st

from ui.frame import page
from ui.pages.absorption import PAGE, brackets, merged, merges, rounding
from ui.pages.absorption import view as absorption
from ui.parts import prose, questions, reader
from ui.parts.control import control
from ui.words.text import t

SECTIONS = {
    "merged": merged.section,
    "rounding": rounding.section,
    "heads_in_one": merges.heads_in_one,
    "past_the_norm": merges.past_the_norm,
}

with page.frame(PAGE) as frame:
    prose.title(t("absorption.title"))
    view = None
    try:
        view = absorption.view()
        prose.lead(*brackets.lead(view))
        questions.ask(brackets.question, view)
    except ValueError as refusal:
        prose.refused(refusal)

    with st.container(key="beside"):
        picture, bars, panel = st.columns([6, 6, 4], gap="medium")
    with picture:
        control("ab_side")
    with panel:
        control("ab_queries")
        control("ab_context")
    if view:
        with panel, st.container(key="absorption_verdict"):
            prose.say(brackets.verdict(view))
        with picture:
            brackets.picture(view)
        with bars:
            brackets.work(view)
            brackets.traffic(view)
        with st.expander(t("common.how_to_read")):
            for said in (t(f"absorption.look_{view.chosen.side}"), *brackets.notes(view)):
                prose.say(said)
        if view.model.is_trained:  # it reads a sentence of the reader's
            reader.sentence()
        for name, section in SECTIONS.items():
            st.subheader(t(f"absorption.section_{name}"), anchor=False)
            with prose.refusals():
                section(view)

    frame.view = view
