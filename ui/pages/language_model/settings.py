"""The settings of the page language_model."""

from mla_engine.language_model.texts import TASKS, WORDS
from ui.engine.trained import VARIANTS
from ui.pages.language_model.sentences import MOST_CHARACTERS, MOST_WORDS
from ui.settings.parsers import Setting, number, one_of, whole


def known(text: str) -> str:
    """A text of the language's words; the empty one stands for the page's own.

    Raises:
        ValueError: another word, or more than are read.
    """
    written = text.lower().split()
    if len(text) > MOST_CHARACTERS or len(written) > MOST_WORDS or set(written) - set(WORDS):
        raise ValueError(text)
    return text


SETTINGS = {
    "lm_text": Setting("", known),  # empty: the page's own
    "lm_model": Setting("mla", one_of(*VARIANTS)),
    "lm_temperature": Setting(1.0, number(0.1, 10)),
    "lm_pick": Setting("likeliest", one_of("likeliest", "drawn")),
    "lm_back": Setting(0, whole(0, MOST_WORDS - 1)),  # words from the end to the one that is lit
    "lm_task": Setting(next(iter(TASKS)), one_of(*TASKS)),
    "lm_seed": Setting(0, whole(0, 9999)),  # of the example
}
