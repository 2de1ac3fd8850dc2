"""What the reader can do in a quiz: predict, reveal, go on, choose another set."""

from functools import partial

import streamlit as st

from ui.pages.quiz import words
from ui.pages.quiz.view import UNVOTED, View, as_text
from ui.parts import bridge, questions
from ui.settings import state
from ui.words.text import t


def predict(here: View) -> None:
    """The choices of the question."""
    options = words.options(here.question)
    state.control(
        st.radio,
        t("quiz.predict"),
        "quiz_choice",
        list(options),
        format_func=options.get,
        index=None,
    )


def offer(here: View) -> None:
    """A lecturer can put the question to a class."""
    questions.offer(partial(words.worded, here.question))


def ways(here: View) -> None:
    """Reveal, back and on."""
    st.button(
        t("quiz.reveal"),
        type="primary",
        disabled=not here.ready,
        on_click=reveal,
        args=(here,),
    )
    st.button(t("quiz.previous"), disabled=here.is_end(-1), on_click=turn, args=(here, -1))
    label = t("quiz.summary" if here.is_end(1) else "quiz.next")
    st.button(label, on_click=turn, args=(here, 1))


def choose_set() -> None:
    """Which questions, and how many."""
    state.control(st.number_input, t("quiz.seed"), "quiz_seed", 0, 9999, then=begin)
    state.control(st.slider, t("quiz.count"), "quiz_count", 1, 38, then=begin)
    st.button(t("quiz.again"), on_click=begin, width="stretch")


def listen(here: View) -> None:
    """A clicker's keys: forward reveals first, with a prediction or without, then goes on.

    After the last question comes the summary.
    """
    bridge.listen("quiz_keys", on_step=partial(step, here))


def step(here: View, by: int) -> None:
    """What one press does."""
    if by > 0 and here.ready and not here.done:
        reveal(here)
    else:
        turn(here, by)


def reveal(here: View) -> None:
    """Take the prediction as given, if one was made."""
    if here.ready:
        predicted = UNVOTED if here.choice is None else here.choice
        answers = (*here.answers[: here.place], predicted, *here.answers[here.place + 1 :])
        state.change(quiz_answers=as_text(answers), quiz_choice=None)


def turn(here: View, by: int) -> None:
    """Show the next question or the one before, after the last one the summary."""
    end = len(here.questions) + 1
    number = min(end, max(1, (end if here.done else here.place + 1) + by))
    state.change(quiz_number=min(number, end - 1), quiz_choice=None, quiz_done=number == end)


def begin() -> None:
    """Forget all predictions and show the first question."""
    state.change(quiz_answers="", quiz_number=1, quiz_choice=None, quiz_done=False)
