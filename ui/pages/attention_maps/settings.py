"""The settings of the page attention_maps."""

from mla_engine.symbols import SYMBOLS
from ui.settings.parsers import Setting, flag, number, one_of, sentence, whole

SETTINGS = {
    "map_text": Setting("", sentence),  # empty: the page's own
    "map_generated": Setting(0, whole(0, 2**15)),  # made-up words; 0 takes the text
    "map_run": Setting(0, whole(0, 128)),  # heads to run; 0 is as many as take a moment
    "map_head": Setting(0, whole(0, 127)),
    "map_causal": Setting(True, flag),
    "map_temperature": Setting(1.0, number(0.1, 10)),
    "map_query": Setting(8, whole(0, 2**15 - 1)),
    "map_key": Setting(1, whole(0, 2**15 - 1)),
    "map_tensor": Setting("c_KV", one_of(*SYMBOLS)),
}
