"""A set of questions and what the reader predicted; the set follows from its number."""

from dataclasses import dataclass
from time import monotonic

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mla_engine import quiz
from ui.engine import queue
from ui.settings import state
from ui.settings.page import Note
from ui.words.text import t

OPEN = "-"
PATIENCE_SECONDS = 0.3  # what takes less shows no progress


@st.cache_data(max_entries=512, max_size=2**24, show_spinner=False)
def asked(seed: int, kind: str) -> quiz.Question:
    """One question of a set, its answer computed once a server."""
    with queue.turn():
        return quiz.question(seed, kind)


@dataclass(frozen=True, eq=False)
class Round:
    """The questions of the present set, the predictions made so far, and which one is shown."""

    questions: tuple[quiz.Question, ...]
    answers: tuple[int | None, ...]
    place: int

    @property
    def question(self) -> quiz.Question:
        """The one that is shown."""
        return self.questions[self.place]

    @property
    def answer(self) -> int | None:
        """What was predicted of it, once it is revealed."""
        return self.answers[self.place]

    @property
    def answered(self) -> int:
        """How many are revealed."""
        return sum(answer is not None for answer in self.answers)

    @property
    def marks(self) -> tuple[str, ...]:
        """Of each question: right, wrong or unanswered."""
        return tuple(
            "unanswered" if answer is None else "right" if answer == q.answer else "wrong"
            for q, answer in zip(self.questions, self.answers, strict=True)
        )

    @property
    def right(self) -> int:
        """How many predictions were right."""
        return self.marks.count("right")


def mend() -> list[Note]:
    """Bring number, prediction and answers to what the set has."""
    s = state.settings()
    kinds = quiz.order(s["quiz_seed"])[: s["quiz_count"]]
    notes = state.at_most(quiz_number=len(kinds))
    if s["quiz_choice"] is not None:
        choices = asked(s["quiz_seed"], kinds[s["quiz_number"] - 1]).choices
        possible = s["quiz_choice"] if s["quiz_choice"] < len(choices) else None
        notes += state.nearest(quiz_choice=possible)
    marks = [
        mark if mark == OPEN or int(mark) < len(asked(s["quiz_seed"], kind).choices) else OPEN
        for mark, kind in zip(s["quiz_answers"], kinds, strict=False)
    ]
    return notes + state.nearest(quiz_answers="".join(marks).rstrip(OPEN))


def present(place: DeltaGenerator) -> Round:
    """The round of the mended settings; a bar at `place` while its answers are computed."""
    s = state.settings()
    kinds = quiz.order(s["quiz_seed"])[: s["quiz_count"]]
    started, questions = monotonic(), []
    for done, kind in enumerate(kinds):
        if monotonic() - started > PATIENCE_SECONDS:
            words = t("quiz.preparing", done=done, all=len(kinds))
            place.progress(done / len(kinds), words)
        questions.append(asked(s["quiz_seed"], kind))
    place.empty()
    given = s["quiz_answers"].ljust(len(kinds), OPEN)
    answers = tuple(None if mark == OPEN else int(mark) for mark in given)
    return Round(tuple(questions), answers, s["quiz_number"] - 1)


def reveal(shown: Round) -> None:
    """Take the prediction as given; nothing happens without one."""
    choice = state.settings()["quiz_choice"]
    if choice is None or shown.answer is not None:
        return
    answers = [OPEN if answer is None else str(answer) for answer in shown.answers]
    answers[shown.place] = str(choice)
    state.change(quiz_answers="".join(answers).rstrip(OPEN), quiz_choice=None)


def turn(shown: Round, by: int) -> None:
    """Show the next question or the one before."""
    number = min(len(shown.questions), max(1, shown.place + 1 + by))
    state.change(quiz_number=number, quiz_choice=None)


def at_end(shown: Round, by: int) -> bool:
    """Whether there is no question further on that way."""
    return not 0 <= shown.place + by < len(shown.questions)


def step(shown: Round, by: int) -> None:
    """A clicker's key: forward reveals a prediction first, then goes on."""
    if by > 0 and shown.answer is None and state.settings()["quiz_choice"] is not None:
        reveal(shown)
    else:
        turn(shown, by)


def again() -> None:
    """Forget all predictions of the set."""
    state.change(quiz_answers="", quiz_number=1, quiz_choice=None)
