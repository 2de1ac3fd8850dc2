"""The set of questions: the ways through it, how far it is answered, and its summary at the end."""

import pandas as pd
import streamlit as st

from ui.pages.quiz import places
from ui.pages.quiz.question import SIGNS, answers, asks
from ui.pages.quiz.view import END, UNVOTED, View, go, reveal
from ui.parts import links, statements
from ui.parts.control import control
from ui.settings import state
from ui.words.text import listed, t

MARKS = SIGNS | {"shown": "·", "unanswered": "○"}


def lead(here: View) -> tuple[str, str]:
    """Return which question this is, and the score once there is one."""
    if here.done:
        score = {"right": here.right, "answered": here.answered, "count": len(here.questions)}
        number = t("common.out_of", n=here.right, all=len(here.questions))
        return number, t("quiz.line_done", **score)
    place = {"number": here.place + 1, "count": len(here.questions)}
    number = t("common.out_of", n=place["number"], all=place["count"])
    if not here.answered:
        return number, t("quiz.line_open", **place)
    return number, t("quiz.line", **place, right=here.right, answered=here.answered)


def ways(here: View) -> None:
    """Draw the buttons to reveal, and to go back and on."""
    st.button(t("quiz.reveal"), type="primary", disabled=here.answer is not None, on_click=reveal)
    number = here.place + 1
    back, on = str(number - 1), END if here.is_end(1) else str(number + 1)
    label = t("quiz.summary" if here.is_end(1) else "quiz.next")
    ways = {"previous": (t("quiz.previous"), back), "next": (label, on)}
    for name, (said, to) in ways.items():
        first = name == "previous" and here.is_end(-1)
        st.button(said, key=f"quiz_{name}", disabled=first, on_click=go, args=(to,))


def choose_set() -> None:
    """Draw the controls that say which questions, and how many."""
    control("quiz_seed", then=begin)
    control("quiz_count", then=begin)
    st.button(t("quiz.again"), on_click=begin, width="stretch")


def choose_in_copy(here: View) -> None:
    """Draw what a static copy has in their place: the numbers of its questions."""
    numbers = range(1, len(here.questions) + 1)
    label = t("quiz.progress")
    control("quiz_number", widget="segmented_control", label=label, options=numbers, write=str)
    st.caption(t("quiz.of_copy"))


def begin() -> None:
    """Forget all predictions and show the first question."""
    state.change(quiz_answers="", quiz_number=1, quiz_choice=None, quiz_done=False)


def board(here: View) -> str:
    """Return every question of the set with its mark, as HTML."""
    chips = []
    for place, mark in enumerate(here.marks):
        present = " here" if place == here.place and not here.done else ""
        chips.append(f'<li class="{mark}{present}">{_sign(mark)} {place + 1}</li>')
    return f'<ul class="quiz-board" aria-label="{t("quiz.progress")}">{"".join(chips)}</ul>'


def _sign(mark: str) -> str:
    return f'<b role="img" aria-label="{t(f"quiz.mark_{mark}")}">{MARKS[mark]}</b>'


def summary(here: View) -> None:
    """Draw what was not predicted right, and a button to each page that shows it."""
    if not here.missed:
        st.success(t("quiz.all_right"), icon=":material/check_circle:")
    else:
        st.html(_missed(here))
        st.subheader(t("quiz.read_again"), anchor=False)
        with st.container(key="quiz_pages", horizontal=True):
            for link, numbers in places.again(here.questions, here.missed):
                label = t("quiz.read", page=links.name(link), numbers=listed(map(str, numbers)))
                key = f"quiz_read_{link.page}"
                st.button(label, key=key, on_click=links.follow, args=(link,))
    last = str(len(here.questions))
    st.button(t("quiz.back"), icon=":material/arrow_back:", on_click=go, args=(last,))


def _missed(here: View) -> str:
    """Return the questions that were not predicted right, as HTML; answers of what is revealed."""
    rows = []
    for place in here.missed:
        question, mark = here.questions[place], here.marks[place]
        right = t("quiz.predicted_none", true=answers(question)[question.answer])
        told = t("quiz.not_answered") if mark == "unanswered" else right
        rows.append(
            f'<li class="{mark}">{_sign(mark)} {place + 1}. '
            f"{statements.typeset(asks(question))} <strong>{statements.typeset(told)}</strong></li>"
        )
    return f'<ul class="quiz-missed">{"".join(rows)}</ul>'


def table(here: View) -> pd.DataFrame:
    """Return the whole set; answers stand in it for what is revealed."""
    rows = []
    for number, (question, predicted) in enumerate(
        zip(here.questions, here.answers, strict=True), start=1
    ):
        texts, is_open = answers(question), predicted is None
        rows.append(
            {
                "number": number,
                "kind": question.kind,
                "question": asks(question),
                "choices": " | ".join(texts),
                "prediction": "" if predicted in (None, UNVOTED) else texts[predicted],
                "answer": "" if is_open else texts[question.answer],
            }
        )
    return pd.DataFrame(rows)
