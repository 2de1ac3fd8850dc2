"""The code behind the page quiz."""

from mla_engine import quiz
from ui.pages.quiz.view import View
from ui.settings.page import Functions


def ran(here: View) -> Functions:
    """What orders the set, and what asked and answered the question that is shown."""
    return quiz.order, quiz.question, quiz.KINDS[here.question.kind]
