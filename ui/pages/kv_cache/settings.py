"""The settings of the page kv_cache."""

import re
from functools import partial
from math import log

from mla_engine import PRESETS, mechanisms
from mla_engine.costs import ATTENTION, GPUS
from mla_engine.mechanism import Mechanism
from mla_engine.presets import Preset
from ui.settings.parsers import (
    Setting,
    flag,
    has_preset,
    one_of,
    power_of_two,
    preset_of,
    published,
    whole,
    words,
)
from ui.settings.sizes import longest

SIZED = re.compile(r"\d[BM]\b")  # readers know these models by it
LEFT, RIGHT, CONTEXT = "deepseek-v3", "llama-3.1-405b", 2**17


def left(preset: str) -> str:
    """The model that was chosen for all pages."""
    return preset if has_preset(preset) else LEFT


def contrast(preset: str) -> str:
    """To set beside it: MLA, or another kind of cache beside MLA, of the model nearest in size."""
    ours, mla = preset_of(left(preset)), _kind(PRESETS[LEFT])
    with_mla = _kind(ours) is not mla
    others = [
        key for key, one in PRESETS.items() if _plain(one) and (_kind(one) is mla) == with_mla
    ]
    size = (ours if _sized(ours) else PRESETS[LEFT]).parameters
    return min(others, key=lambda key: abs(log(PRESETS[key].parameters / size)))


def _plain(one: Preset) -> bool:
    """Tell if its name says its size, and each of its layers keeps as much, all of it counted."""
    return _sized(one) and not one.not_modelled and not one.beside


def _sized(one: Preset) -> bool:
    return bool(SIZED.search(one.name) and one.parameters)


def _kind(one: Preset) -> Mechanism:
    return mechanisms.of(one.config)


SETTINGS = {
    "kv_left": Setting(LEFT, published, follows=left),
    "kv_right": Setting(RIGHT, published, follows=contrast),
    "kv_groups": Setting(8, whole(1, 128)),
    "kv_layers": Setting(0, whole(0, 1024)),  # 0 is all
    "kv_batch": Setting(1, power_of_two(1, 1024)),
    "kv_type": Setting("bf16", one_of("fp32", "bf16", "fp8", "int4")),
    "kv_context": Setting(
        CONTEXT, power_of_two(2**10, 2**20), follows=partial(longest, most=CONTEXT)
    ),
    "kv_log": Setting(True, flag),
    "kv_unit": Setting("GiB", one_of("GiB", "GB")),
    "kv_view": Setting("context", one_of("context", "memory", "layouts", "parallel", "formula")),
    "kv_gpu": Setting("h200", one_of(*GPUS)),
    "kv_ranks": Setting(8, power_of_two(1, 128)),  # GPUs that share the model
    "kv_attention": Setting("tensor", one_of(*ATTENTION)),
    "kv_weights": Setting("fp8", one_of("fp32", "bf16", "fp8", "int4")),
    "kv_own": Setting("", words(200)),  # a model of the reader's own, by name
    "kv_sequences": Setting(4, power_of_two(1, 1024)),
}
