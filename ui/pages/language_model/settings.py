"""The settings of the page language_model."""

from ui.engine.trained import VARIANTS
from ui.settings.parsers import MOST_WORDS, Setting, number, one_of, whole

TEMPERATURES = (0.1, 0.2, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0)

SETTINGS = {
    "lm_model": Setting("mla", one_of(*VARIANTS), "segmented_control"),
    "lm_temperature": Setting(
        1.0, number(0.1, 10), "select_slider", options=TEMPERATURES, write="{:g}".format
    ),
    "lm_pick": Setting("likeliest", one_of("likeliest", "drawn"), "segmented_control"),
    # Words from the end to the one that is lit.
    "lm_back": Setting(0, whole(0, MOST_WORDS - 1), "selectbox", "language_model.path"),
}
