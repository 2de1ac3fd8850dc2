"""The settings of the page compute."""

from functools import partial

from mla_engine.costs import GPUS
from ui.settings.parsers import SMALL, Setting, one_of, power_of_two, preset_of, whole
from ui.settings.shared import PUBLISHED
from ui.settings.sizes import longest, published

CONTEXT = 2**15


def layers(preset: str) -> int:
    """Attentions of a model that keep a cache, 1 for our own sizes."""
    if preset == SMALL:
        return 1
    found = preset_of(published(preset))
    return found.n_caches or found.n_layers


SETTINGS = {
    "cost_phase": Setting("decode", one_of("decode", "prefill")),
    "cost_scope": Setting("model", one_of("layer", "model")),
    "cost_layers": Setting(layers(PUBLISHED), whole(1, 1024), follows=layers),
    "cost_gpu": Setting("h200", one_of(*GPUS, "this")),
    "cost_context": Setting(
        CONTEXT, power_of_two(2**7, 2**20), follows=partial(longest, most=CONTEXT)
    ),
    "cost_queries": Setting(1, power_of_two(1, 2**10)),
    "cost_batch": Setting(32, power_of_two(1, 2**10)),
}
