"""The settings of the page language_model."""

from ui.engine.trained import VARIANTS
from ui.settings.parsers import MOST_WORDS, Setting, number, one_of, whole

SETTINGS = {
    "lm_model": Setting("mla", one_of(*VARIANTS)),
    "lm_temperature": Setting(1.0, number(0.1, 10)),
    "lm_pick": Setting("likeliest", one_of("likeliest", "drawn")),
    "lm_back": Setting(0, whole(0, MOST_WORDS - 1)),  # words from the end to the one that is lit
}
