"""The settings of the page compute."""

from functools import partial

from mla_engine.costs import GPUS
from ui.settings.parsers import Setting, one_of, power_of_two
from ui.settings.sizes import longest

CONTEXT = 2**15
SETTINGS = {
    "cost_phase": Setting("decode", one_of("decode", "prefill")),
    "cost_scope": Setting("model", one_of("layer", "model")),
    "cost_gpu": Setting("h200", one_of(*GPUS, "this")),
    "cost_context": Setting(
        CONTEXT, power_of_two(2**7, 2**20), follows=partial(longest, most=CONTEXT)
    ),
    "cost_queries": Setting(1, power_of_two(1, 2**10)),
    "cost_batch": Setting(32, power_of_two(1, 2**10)),
}
