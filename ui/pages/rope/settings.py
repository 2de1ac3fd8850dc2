"""The settings of the page rope."""

from mla_engine.studies.conventions import PAIRING_READINGS, SCALE_READINGS
from ui.settings.parsers import Setting, one_of, whole

SETTINGS = {
    "rope_topic": Setting("turning", one_of("turning", "merged", "pairing", "scale", "yarn")),
    "rope_query": Setting(9, whole(0, 15)),
    "rope_key": Setting(4, whole(0, 15)),
    "rope_pair": Setting(0, whole(0, 127)),
    "rope_distance": Setting(3, whole(0, 64)),
    "rope_pairing": Setting("both", one_of(*PAIRING_READINGS[1:])),
    "rope_scale": Setting("absorbed_width", one_of(*SCALE_READINGS[1:])),
    "rope_start": Setting(0, whole(0, 100_000)),  # position of the first word
    "rope_head": Setting(0, whole(0, 127)),
}
