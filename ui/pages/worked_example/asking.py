"""The questions to the reader: the number of a cell, and the rule behind a step."""

from functools import partial

import streamlit as st

from mla_engine.worked_example import MAX_CHARACTERS, NumberError, exercises
from ui.pages.worked_example.step import cell_name
from ui.pages.worked_example.view import View, answered
from ui.words.text import t

RIGHT, SHOWN = "right", "shown"


def answer(here: View) -> None:
    """Draw a field for the chosen cell, told right or wrong, and a way to see it at once."""
    row, column = here.chosen
    key = f"we_answer:{here.step.key}:{row}:{column}:{here.language}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        typed = st.text_input(
            t("worked_example.answer", cell=cell_name(here)),
            max_chars=MAX_CHARACTERS,
            key=key,
            help=t("worked_example.answer_help"),
            width=260,
            on_change=lambda: _take(here, st.session_state[key]),
        )
        show = partial(_close, here, SHOWN)
        st.button(t("worked_example.answer_show"), key="we_answer_show", on_click=show)
    if verdict := _judged(here, typed):
        st.warning(t(f"worked_example.answer_{verdict}"), icon=":material/close:")


def _take(here: View, typed: str) -> None:
    if _judged(here, typed) == RIGHT:
        _close(here, RIGHT)


def _close(here: View, how: str) -> None:
    """Ask the step no more: the reader found its number, or wanted to see it."""
    answered()[here.variant, here.step.key] = how


def _judged(here: View, typed: str) -> str:
    """Return whether an answer is right, wrong or no number; empty where there is none."""
    row, column = here.chosen
    if not typed.strip():
        return ""
    try:
        right = exercises.is_right(typed.strip(), here.step.cells[row][column].value)
    except NumberError:
        return "no_number"
    return RIGHT if right else "wrong"


def praise(here: View) -> None:
    """Say that the number was found, where the reader found it."""
    if here.stage != "given" and answered().get((here.variant, here.step.key)) == RIGHT:
        st.success(t("worked_example.answer_right"), icon=":material/check:")


def rule(here: View) -> None:
    """Ask which rule allows the step, where one acts: three choices, told right or wrong."""
    step = here.step.key
    if here.stage == "given" or not exercises.offered_rules(step):
        return
    names = {code: t(f"worked_example.rule_{code}") for code in exercises.offered_rules(step)}
    chosen = st.radio(
        t(f"worked_example.rule_asks_{step}"),
        list(names),
        format_func=names.get,
        index=None,
        key=f"we_rule:{step}:{here.language}",
    )
    if chosen == exercises.acting_rule(step):
        why = t(f"worked_example.why_{step}")
        st.success(t("worked_example.rule_right", why=why), icon=":material/check:")
    elif chosen:
        why = t(f"worked_example.not_{chosen}")
        st.warning(t("worked_example.rule_wrong", why=why), icon=":material/close:")
