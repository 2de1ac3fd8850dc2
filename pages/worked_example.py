"""Worked example: every published step of MLA and MHA, exact, beside the printed figures."""

import streamlit as st

from ui.frame import page
from ui.pages.worked_example import PAGE, asking, board, own, step
from ui.pages.worked_example.view import view
from ui.parts import prose
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("worked_example.title"))
    here = view()
    step.listen(here)
    prose.lead(*step.lead(here))
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom"):
        step.choose(here)

    with st.container(key="we_stage", gap="xsmall"):
        st.subheader(step.heading(here), anchor=False)
        st.container(key="we_formula").latex(here.step.formula, width="content")
        st.html(board.row(here))
        written, choices = st.columns([5, 2])
        with written:
            if here.open:
                asking.answer(here)
            else:
                asking.praise(here)
                st.html(step.written_out(here))
            asking.rule(here)
        with choices.container(gap="small", horizontal=True):
            step.choose_cell(here)
        prose.note(t("worked_example.look"))
        prose.note(step.legend(here))
        with st.container(key="we_ways", horizontal=True, vertical_alignment="bottom", gap="large"):
            step.choose_what_is_shown()

    with st.expander(t("worked_example.edit")):
        prose.say(t("worked_example.edit_how"))
        own.draw(here)
    board.downloads(here)
    frame.view = here
