"""Worked example: every published step of MLA and MHA, exact, beside the printed figures."""

import streamlit as st

from ui.frame import page
from ui.pages.worked_example import PAGE, asking, controls, tables, words
from ui.pages.worked_example.board import board
from ui.pages.worked_example.view import view
from ui.parts import prose
from ui.words.text import t

page.setup(PAGE)
prose.title(t("worked_example.title"))
here = view()
controls.listen(here)
prose.lead(*words.lead(here))
with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom"):
    controls.choose(here)

with st.container(key="we_stage", gap="xsmall"):
    st.subheader(words.heading(here), anchor=False)
    st.container(key="we_formula").latex(here.step.formula, width="content")
    st.html(board(here))
    written, choices = st.columns([3, 1])
    with written:
        if here.open:
            asking.answer(here)
        else:
            asking.praise(here)
            st.html(words.written_out(here))
        asking.rule(here)
    with choices.container(gap="xsmall"):
        controls.choose_cell(here)
    prose.note(t("worked_example.look"))
    prose.note(words.legend(here))
    with st.container(key="we_ways", horizontal=True, vertical_alignment="bottom", gap="large"):
        controls.stage()
        controls.compare()

with st.expander(t("worked_example.edit")):
    prose.say(t("worked_example.edit_how"))
    controls.input_boxes(here)
tables.downloads(here)
page.footer(here)
