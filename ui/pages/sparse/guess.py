"""What the page asks before its picture: how many answers are still right."""

from ui.pages.sparse.view import View
from ui.parts.guess.question import Guess, evenly
from ui.words.numbers import count
from ui.words.text import t


def question(view: View) -> Guess:
    """The share of right answers with the chosen number of keys."""
    most = count(view.questions.tokens.shape[1])
    return evenly(
        "sparse",
        t("sparse.guess", keys=count(view.keys), most=most),
        100 * view.asked.right,
        100,
        say=lambda n: t("common.percent", value=count(n)),
        why=t("sparse.guess_why"),
        hides=("lead", "sparse:answers"),
    )
