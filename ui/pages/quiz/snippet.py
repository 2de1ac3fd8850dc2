"""The snippet of the page quiz."""

from ui.pages.quiz.view import View, as_text
from ui.settings.page import Recipe


def recipe(here: View) -> Recipe:
    """The template that asks the set and counts what was predicted right, and its values."""
    return "quiz", {
        "seed": here.seed,
        "number": here.place + 1,
        "count": len(here.questions),
        "predicted": as_text(here.answers),
    }
