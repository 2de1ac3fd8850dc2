"""Worked example: every published step of MLA and MHA, exact, beside the printed figures."""

import streamlit as st

from ui.frame import page
from ui.pages.worked_example import PAGE
from ui.pages.worked_example import data as example_data
from ui.pages.worked_example import view as stepper
from ui.pages.worked_example.board import board
from ui.parts import prose
from ui.settings import state
from ui.words.text import t

page.setup(PAGE)
here = stepper.scene()
stepper.listen(here)
prose.title(here.title, t("worked_example.look"))

with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom"):
    state.control(
        st.segmented_control,
        t("worked_example.variant"),
        "we_variant",
        ["mla", "mha"],
        format_func=str.upper,
        required=True,
        label_visibility="collapsed",
        width="content",
        then=stepper.first_step,
    )
    state.control(
        st.toggle,
        t("worked_example.completed"),
        "we_completed",
        help=t("worked_example.completed_help"),
        width="content",
        then=stepper.first_step,
    )
    with st.container(key="we_moves", horizontal=True, gap="xsmall", width="content"):
        for name, icon, act, nowhere in stepper.buttons(here):
            st.button(
                t(f"worked_example.{name}"),
                icon=icon,
                key=f"we_{name}",
                help=t(f"worked_example.{name}_help"),
                on_click=act,
                disabled=nowhere,
            )
    state.control(
        st.slider,
        t("worked_example.scrubber", of=len(here.steps)),
        "we_step",
        1,
        len(here.steps),
        label_visibility="collapsed",
        width=220,
        then=stepper.first_cell,
    )

with st.container(key="we_stage", gap="xsmall"):
    st.subheader(here.heading, anchor=False)
    st.container(key="we_formula").latex(here.step.formula, width="content")
    st.html(board(here.step, here.chosen, here.changed))
    written, choices = st.columns([3, 1])
    written.html(here.written_out)
    rows, columns = here.step.result.shape
    with choices.container(gap="xsmall"):
        stepper.selector("we_row", rows)
        stepper.selector("we_column", columns)
    st.caption(t("worked_example.legend"))

with st.expander(t("worked_example.edit")):
    st.markdown(t("worked_example.edit_how"))
    example_data.input_boxes(here)
as_csv, as_xlsx, _ = st.columns(3)
for place, kind in ((as_csv, "csv"), (as_xlsx, "xlsx")):
    place.download_button(
        t(f"worked_example.download_{kind}"),
        example_data.file(here, kind),
        f"worked_example_{here.variant}.{kind}",
        key=f"we_{kind}",
        on_click="ignore",
        width="stretch",
    )
page.footer(here)
