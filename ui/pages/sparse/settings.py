"""The settings of the page sparse."""

from mla_engine.language_model.sparse import KEYS
from ui.settings.parsers import MOST_WORDS, Setting, power_of_two, whole

SETTINGS = {
    "sp_keys": Setting(8, whole(KEYS[0], KEYS[-1])),
    "sp_back": Setting(0, whole(0, MOST_WORDS - 1)),  # words from the end to the one that asks
    "sp_layer": Setting(0, whole(0, 1)),  # of two, whose heads look at more words than the other's
    "sp_context": Setting(2**17, power_of_two(2**8, 2**17)),
}
