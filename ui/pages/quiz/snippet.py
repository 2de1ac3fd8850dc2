"""The snippet of the page quiz."""

from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    s = state.settings()
    return "quiz", {
        "seed": s["quiz_seed"],
        "number": s["quiz_number"],
        "count": s["quiz_count"],
        "predicted": s["quiz_answers"],
    }
