"""The place in the app where each statement can be seen best."""

from collections.abc import Mapping

from ui.parts.links import example, of_preset
from ui.settings.page import Link
from ui.settings.parsers import SMALL

LITE, V3, ABSORBED = "deepseek-v2-lite", "deepseek-v3", "mla_absorbed"

# nothing in the app shows a statement on other bases (T6)
PLACES: Mapping[str, Link] = {
    "N1": example("mha", "q"),
    "N2": of_preset("overview", LITE),
    "N3": Link("rope", {"rope_topic": "merged"}),
    "N4": Link("decode"),
    "N5": Link("absorption"),
    "N6": Link("absorption", {"ab_side": "output"}),
    "T1": of_preset("overview", V3),
    "T2": of_preset("overview", V3, ABSORBED),
    "T3": of_preset("overview", V3, ABSORBED),
    "T4": Link("kv_cache", {"kv_left": LITE, "kv_right": V3}),
    "T5": of_preset("compute", V3),
    "T7": Link("rope", {"rope_topic": "turning"}),
    "T8": Link("compression"),  # in a small setting
    "T9": Link("absorption"),
    "S1": of_preset("attention_maps", SMALL, "mha"),
    "S2": Link("kv_cache", {"kv_left": "llama-3-8b"}),
    "S3": of_preset("attention_maps", SMALL, "gqa"),
    "S4": example("mha", "v"),
    "S5": Link("absorption"),
    "S6": Link("rope", {"rope_topic": "turning"}),
    "S7": of_preset("overview", V3),
    "S8": Link("kv_cache", {"kv_left": LITE, "kv_right": "deepseek-v2"}),
    "S9": of_preset("overview", V3, ABSORBED),
    "P1": Link("kv_cache"),
    "P2": Link("kv_cache"),
    "P3": Link("rope", {"rope_topic": "scale"}),
    "P4": Link("absorption"),
    "P5": Link("absorption", {"ab_side": "output"}),
    "P6": of_preset("overview", V3),
    "P7": of_preset("absorption", V3),
    "C1": Link("kv_cache", {"kv_left": "deepseek-v2"}),
    "C2": Link("absorption"),
    "C3": of_preset("compute", V3, cost_phase="prefill"),
    "C4": of_preset("overview", V3),
    "C5": of_preset("compression", V3),
    "C6": Link("absorption"),
    "C7": Link("kv_cache", {"kv_left": "deepseek-v2"}),
    "C8": of_preset("compression", V3),
    "C9": of_preset("overview", V3),
    "C10": example("mla", "k_R"),
    "C11": example("mla", "c_KV"),
    "C12": example("mha", "q"),
    "C13": example("mla", "cache_ratio"),
    "C14": example("mla", "attention", completed=True),
    "C15": example("mla", "u"),
}
