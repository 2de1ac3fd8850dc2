"""Texts of the language that end before an answer, one press away."""

from collections.abc import Callable
from itertools import count
from random import Random

import streamlit as st

from mla_engine.language_model.texts import TASKS, exercise
from ui.settings import state
from ui.words.text import t

SHORT = 24  # words of an example: all of them are drawn in a picture that a hall can read
LIGHT = 2  # of a task's loads, from the lightest
TRIED = 50  # seeds among which the present text is looked for


def example(task: str, seed: int) -> str:
    """A text of one task that ends before an answer: the next word is determined."""
    random = Random(f"{task}/{seed}")
    text = exercise(random, task, random.choice(TASKS[task].loads[:LIGHT]))
    answers = [place for place, word in enumerate(text) if word.distance]
    near = [place for place in answers if place <= SHORT] or answers[:1]
    return " ".join(word.word for word in text[: random.choice(near)])


def another(task: str, text: str) -> str:
    """The first example of a task, or the one after `text` where that is one."""
    found = (seed for seed in range(TRIED) if example(task, seed) == text)
    later = count(next(found, -1) + 1)
    return next(one for one in (example(task, seed) for seed in later) if one != text)


def row(then: Callable[[], object] = lambda: None) -> None:
    """Draw the buttons in a row of their own."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        buttons(then)


def buttons(then: Callable[[], object]) -> None:
    """One for each task, which takes an example of it: another one at every press.

    Args:
        then: runs after it.
    """
    st.markdown(t("sentences.examples"), width="content")
    for task in TASKS:
        label, key = t(f"sentences.{task}"), f"example_{task}"
        st.button(label, key=key, on_click=_take, args=(task, then))


def _take(task: str, then: Callable[[], object]) -> None:
    state.change(sentence=another(task, state.settings()["sentence"]))
    then()
