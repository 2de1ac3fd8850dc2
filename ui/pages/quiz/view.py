"""A set of questions and what the reader predicted; the set follows from its number."""

import re
from dataclasses import dataclass

from mla_engine import quiz
from ui.engine import queue, shared_cache
from ui.parts.statements import finding
from ui.parts.waits import one_by_one
from ui.settings import state
from ui.settings.page import Note, Stops
from ui.settings.parsers import Setting, flag, optional, whole
from ui.streamlit_internals import DeltaGenerator
from ui.words.text import t

OPEN, SHOWN = "-", "_"  # in a link: not revealed, revealed without a prediction
REVEALED, END = "!", "end"  # of a stop: a question with its answer, the summary
UNVOTED = -1  # the prediction of who made none


def predictions(text: str) -> str:
    """Return predictions so far as a link has them: a figure each, or OPEN or SHOWN.

    Raises:
        ValueError: the text is no such predictions.
    """
    if not re.fullmatch("[0-4_-]{0,38}", text):
        raise ValueError(text)
    return text


SETTINGS = {
    "quiz_seed": Setting(1, whole(0, 9999), "number_input"),
    "quiz_count": Setting(10, whole(1, 38), "slider"),
    "quiz_number": Setting(1, whole(1, 38)),
    "quiz_done": Setting(False, flag, personal=True),
    "quiz_choice": Setting(None, optional(whole(0, 4)), "radio", "quiz.predict", personal=True),
    "quiz_answers": Setting("", predictions, personal=True),
}


@shared_cache.cached(anywhere=True)
def asked(seed: int, kind: str) -> quiz.Question:
    """Return one question of a set, its answer computed once for all sessions."""
    with queue.turn():
        return quiz.question(seed, kind)


def _ready(seed: int, kind: str) -> quiz.Question:
    """Return a question once all that its words quote is there, as the check of a statement."""
    question = asked(seed, kind)
    if kind == "statement":
        finding(question.fact("claim"))
    return question


@dataclass(frozen=True, eq=False)
class View:
    """The questions of the present set, the predictions made so far, and which one is shown.

    Args:
        seed: the number of the set.
        questions: all of the set.
        answers: what was predicted of each, once it is revealed; UNVOTED where nothing was.
        place: of the one that is shown.
        choice: what is chosen for it and not revealed yet.
        done: whether the summary is shown in its place.
    """

    seed: int
    questions: tuple[quiz.Question, ...]
    answers: tuple[int | None, ...]
    place: int
    choice: int | None
    done: bool

    @property
    def question(self) -> quiz.Question:
        """The one that is shown."""
        return self.questions[self.place]

    @property
    def answer(self) -> int | None:
        """The prediction for it, once it is revealed."""
        return self.answers[self.place]

    @property
    def answered(self) -> int:
        """The number of questions that were predicted and are revealed."""
        return self.marks.count("right") + self.marks.count("wrong")

    @property
    def marks(self) -> tuple[str, ...]:
        """The mark of each question: right, wrong, shown without a prediction, or unanswered."""
        without = {None: "unanswered", UNVOTED: "shown"}
        return tuple(
            without.get(answer) or ("right" if answer == question.answer else "wrong")
            for question, answer in zip(self.questions, self.answers, strict=True)
        )

    @property
    def right(self) -> int:
        """The number of right predictions."""
        return self.marks.count("right")

    @property
    def missed(self) -> list[int]:
        """The places of the questions that were not predicted right."""
        return [place for place, mark in enumerate(self.marks) if mark != "right"]

    def is_end(self, by: int) -> bool:
        """Return whether there is no question that many places further on."""
        return not 0 <= self.place + by < len(self.questions)


def as_text(answers: tuple[int | None, ...]) -> str:
    """Return predictions as a link has them: a figure each, or OPEN or SHOWN."""
    without = {None: OPEN, UNVOTED: SHOWN}
    return "".join(without.get(answer, str(answer)) for answer in answers).rstrip(OPEN)


def _predicted(mark: str) -> int | None:
    return {OPEN: None, SHOWN: UNVOTED}[mark] if mark in (OPEN, SHOWN) else int(mark)


def mend() -> list[Note]:
    """Bring number, prediction and answers to what the set has."""
    s = state.settings()
    kinds = quiz.order(s["quiz_seed"])[: s["quiz_count"]]
    notes = state.at_most(quiz_number=len(kinds))
    try:
        return notes + _possible(kinds)
    except queue.FullError:  # which `view` tells; until the answers are known nothing is wrong
        return notes


def _possible(kinds: tuple[str, ...]) -> list[Note]:
    """Bring prediction and answers to what these questions offer."""
    s, notes = state.settings(), []
    if s["quiz_choice"] is not None:
        choices = asked(s["quiz_seed"], kinds[s["quiz_number"] - 1]).choices
        possible = s["quiz_choice"] if s["quiz_choice"] < len(choices) else None
        notes += state.nearest(quiz_choice=possible)
    marks = [
        mark if (_predicted(mark) or 0) < len(asked(s["quiz_seed"], kind).choices) else OPEN
        for mark, kind in zip(s["quiz_answers"], kinds, strict=False)
    ]
    return notes + state.nearest(quiz_answers="".join(marks).rstrip(OPEN))


def view(place: DeltaGenerator) -> View:
    """Return the view of the mended settings; a bar stands at `place` while answers are computed.

    Raises:
        FullError: too much waits to be run.
    """
    s = state.settings()
    kinds = quiz.order(s["quiz_seed"])[: s["quiz_count"]]

    def preparing(_kind: str, done: int) -> str:
        return t("quiz.preparing", done=done, all=len(kinds))

    questions = tuple(_ready(s["quiz_seed"], k) for k in one_by_one(place, kinds, preparing))
    given = s["quiz_answers"].ljust(len(kinds), OPEN)
    answers = tuple(map(_predicted, given))
    return View(
        s["quiz_seed"], questions, answers, s["quiz_number"] - 1, s["quiz_choice"], s["quiz_done"]
    )


def stops() -> Stops:
    """Return what a clicker goes through: each question, revealed if it is not, and the summary.

    A question that is to be revealed has the code REVEALED behind its number.
    """
    s = state.settings()
    codes = []
    for number in range(1, s["quiz_count"] + 1):
        is_open = given(number) == OPEN
        codes += [str(number)] if is_open else []
        codes += [f"{number}{REVEALED}"]
    present = str(s["quiz_number"]) + ("" if given(s["quiz_number"]) == OPEN else REVEALED)
    codes = (*codes, END)
    return Stops(codes, codes.index(END if s["quiz_done"] else present), go)


def go(code: str) -> None:
    """Show a question, revealed if its code says so, or the summary."""
    s = state.settings()
    number = s["quiz_count"] if code == END else int(code.removesuffix(REVEALED))
    if (number, code == END) != (s["quiz_number"], s["quiz_done"]):
        state.change(quiz_number=number, quiz_choice=None, quiz_done=code == END)
    if code.endswith(REVEALED):
        reveal()


def reveal() -> None:
    """Take the prediction of the present question as given, if one was made."""
    s = state.settings()
    place = s["quiz_number"] - 1
    if given(place + 1) == OPEN:
        marks = s["quiz_answers"].ljust(s["quiz_count"], OPEN)
        mark = SHOWN if s["quiz_choice"] is None else str(s["quiz_choice"])
        marks = f"{marks[:place]}{mark}{marks[place + 1 :]}".rstrip(OPEN)
        state.change(quiz_answers=marks, quiz_choice=None)


def given(number: int) -> str:
    """Return what was predicted of a question, as a link has it; OPEN where it is not revealed."""
    return state.settings()["quiz_answers"][number - 1 : number] or OPEN
