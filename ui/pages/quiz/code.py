"""The code behind the page quiz."""

from mla_engine import quiz as questions
from ui.settings import state
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    s = state.settings()
    kind = questions.order(s["quiz_seed"])[s["quiz_number"] - 1]
    return questions.order, questions.question, questions.KINDS[kind]
