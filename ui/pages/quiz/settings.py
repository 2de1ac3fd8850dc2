"""The settings of the page quiz."""

import re

from ui.settings.parsers import Setting, flag, optional, whole


def predictions(text: str) -> str:
    """Predictions so far: a figure each; - is none yet, _ an answer that was shown without one."""
    if not re.fullmatch("[0-4_-]{0,38}", text):
        raise ValueError(text)
    return text


SETTINGS = {
    "quiz_seed": Setting(1, whole(0, 9999)),
    "quiz_count": Setting(10, whole(1, 38)),
    "quiz_number": Setting(1, whole(1, 38)),
    "quiz_done": Setting(False, flag, personal=True),
    "quiz_choice": Setting(None, optional(whole(0, 4)), personal=True),
    "quiz_answers": Setting("", predictions, personal=True),
}
