"""The settings of the page planner."""

from mla_engine.devices import GPUS
from mla_engine.model_caches import MODELS
from mla_engine.model_caches.planner import OVERHEAD
from ui.settings.parsers import Setting, number, one_of, power_of_two, words

SIZED = tuple(key for key, one in MODELS.items() if one.parameters)
KV_TYPES = ("bf16", "fp8", "mxfp4")
WEIGHTS = {"bf16": 2, "fp8": 1, "fp4": 0.5}  # bytes of a parameter
NONE, FIRST = "none", "deepseek-v3"
GIB, MOST_BILLIONS, MOST_GIB = 2**30, 10**5, 64
RANKS = tuple(2**n for n in range(7))

SETTINGS = {
    "plan_model": Setting(FIRST, one_of(*MODELS)),
    "plan_own": Setting("", words(200)),  # a model of the reader's own, by name
    "plan_beside": Setting(NONE, one_of(NONE, *SIZED)),
    "plan_gpu": Setting("h200", one_of(*GPUS)),
    "plan_tensor": Setting(8, power_of_two(RANKS[0], RANKS[-1])),
    "plan_data": Setting(1, power_of_two(RANKS[0], RANKS[-1])),
    "plan_context": Setting(2**15, power_of_two(2**10, 2**20)),
    "plan_kv": Setting("fp8", one_of(*KV_TYPES)),
    "plan_weights": Setting("fp8", one_of(*WEIGHTS)),
    "plan_parameters": Setting(0.0, number(0, MOST_BILLIONS)),  # in 10**9; 0: as published
    "plan_active": Setting(0.0, number(0, MOST_BILLIONS)),  # likewise
    "plan_overhead": Setting(OVERHEAD / GIB, number(0, MOST_GIB)),
}
