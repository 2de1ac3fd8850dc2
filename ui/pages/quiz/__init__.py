"""Quiz: predict, then reveal; questions and answers come from the engine, the set from a number."""

from mla_engine import quiz
from ui.pages.quiz.places import EVERY
from ui.pages.quiz.view import SETTINGS, View, as_text, mend, stops
from ui.settings.page import Functions, Page, Recipe


def code(here: View) -> Functions:
    """Return what orders the set, and what asked and answered the question that is shown."""
    return quiz.order, quiz.question, quiz.KINDS[here.question.kind]


def snippet(here: View) -> Recipe:
    """Return the template that asks the set and counts the right predictions, and its values."""
    return "quiz", {
        "seed": here.seed,
        "number": here.place + 1,
        "count": len(here.questions),
        "predicted": as_text(here.answers),
    }


PAGE = Page(
    name="quiz",
    group="check",
    order=2,
    settings=SETTINGS,
    sizes=False,
    lecture=("quiz_seed", "quiz_count"),
    stops=stops,
    mend=mend,
    code=code,
    snippet=snippet,
    links=EVERY,
)
