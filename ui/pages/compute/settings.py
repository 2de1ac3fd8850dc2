"""The settings of the page compute."""

from mla_engine.costs import GPUS
from ui.settings.parsers import Setting, one_of, power_of_two

SETTINGS = {
    "cost_phase": Setting("decode", one_of("decode", "prefill")),
    "cost_scope": Setting("model", one_of("layer", "model")),
    "cost_gpu": Setting("h200", one_of(*GPUS, "this")),
    "cost_context": Setting(2**15, power_of_two(2**7, 2**20)),
    "cost_queries": Setting(1, power_of_two(1, 2**10)),
    "cost_batch": Setting(32, power_of_two(1, 2**10)),
}
