"""What the compression page asks: how far off the keys are, from the spectrum beside."""

from ui.pages.compression import answers
from ui.pages.compression.view import View
from ui.parts.guess.question import Guess, evenly
from ui.words.numbers import TIED, count, tenths
from ui.words.text import t


def question(view: View) -> Guess:
    """The error of the keys at the chosen size; of a trained model how many answers are right."""
    if view.answers:
        return _right(view)
    error = view.lost("joint").k
    return evenly(
        "compression",
        t("compression.guess", rank=count(view.rank), full=count(view.source.full)),
        100 * error,
        100,
        say=lambda n: f"{tenths(n)}{TIED}%",
        why=t(f"compression.guess_{'trained' if view.trained else view.weights}"),
        hides=("lead", "compression:errors", "compression_numbers"),
    )


def _right(view: View) -> Guess:
    return evenly(
        "compression_answers",
        t("compression.guess_answers", size=count(view.rank), full=count(view.source.full)),
        100 * answers.mean(view.cut(answers.WEIGHTS)),
        100,
        say=lambda n: f"{count(n)}{TIED}%",
        why=t("compression.guess_answers_why"),
        hides=("lead", "compression:answers", "compression:tasks"),
    )
