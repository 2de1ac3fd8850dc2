"""What the absorption page asks: how much the place of the bracket matters."""

from ui.pages.absorption.view import View
from ui.parts.guess.question import Guess, decades
from ui.words.numbers import count, shortest, times
from ui.words.text import t


def question(view: View) -> Guess:
    """How many times the work the dearer order takes."""
    work = view.work.values()
    return decades(
        "absorption",
        t("absorption.guess"),
        max(work) / min(work),
        (1, 10_000),
        say=_said,
        why=t("absorption.guess_why"),
        hides=("lead", "absorption_verdict", "absorption:adds"),
    )


def _said(ratio: float) -> str:
    """A stop of the slider: whole where it is large."""
    if ratio < 1000:
        return times(ratio)
    return t("common.times", value=count(float(shortest(ratio, 3))))
