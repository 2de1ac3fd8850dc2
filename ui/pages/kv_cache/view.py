"""The settings of the cache page, and the view that they choose: two models and a topic."""

import re
from collections.abc import Callable
from functools import partial
from math import log
from types import SimpleNamespace

from mla_engine import PRESETS, mechanisms
from mla_engine.costs import ATTENTION, GPUS
from mla_engine.mechanism import Mechanism
from mla_engine.presets import Preset
from ui.pages.kv_cache.scene import WIDTHS, Scene, type_label
from ui.settings.page import Note
from ui.settings.parsers import (
    Setting,
    flag,
    has_preset,
    one_of,
    power_of_two,
    preset_of,
    published,
    type_of,
    whole,
    words,
)
from ui.settings.sizes import CONTEXTS, divisors, longest
from ui.settings.state import at_most, chosen, nearest, settings

SIZED = re.compile(r"(\d+(?:\.\d+)?)([BM])\b")  # readers know these models by it
SCALES = {"B": 10**9, "M": 10**6}
LEFT, RIGHT, CONTEXT = "deepseek-v3", "llama-3.1-405b", 2**17
WAYS = {  # of attending that are drawn beside the model's own; of "all" every one
    "two": ("mha", "mla"),
    "four": ("mha", "gqa", "mqa", "mla"),
    "all": (),
}
SIDES = "kv_left", "kv_right"  # the settings that name the two models
OF_WAYS = ("context", "memory")  # panels whose lines are the ways that are chosen
OF_ALL_LAYERS = ("memory", "parallel")  # panels that count the whole model
OF_ONE_KIND = "layouts", "formula"  # panels that look into one layer
BATCHES = tuple(2**n for n in range(11))
RANKS = tuple(2**n for n in range(8))  # GPUs that can share a model


def left(preset: str) -> str:
    """Return the model that was chosen for all pages."""
    return preset if has_preset(preset) else LEFT


def contrast(preset: str) -> str:
    """Return the model nearest in size to set beside it: MLA, or another cache beside MLA."""
    ours, mla = preset_of(left(preset)), _kind(PRESETS[LEFT])
    with_mla = _kind(ours) is not mla
    others = [
        key for key, one in PRESETS.items() if _plain(one) and (_kind(one) is mla) == with_mla
    ]
    size = _said_size(ours) or _said_size(PRESETS[LEFT])
    return min(others, key=lambda key: abs(log(_said_size(PRESETS[key]) / size)))


def _plain(one: Preset) -> bool:
    """Tell if its name says its size, and each of its layers keeps as much, all of it counted."""
    return bool(_said_size(one)) and not one.not_modelled and not one.beside


# In a static copy: MLA and what came after it, and models of other kinds of attention.
RECORDED = (
    *("deepseek-v2-lite", "deepseek-v3", "deepseek-v3.2-exp", "deepseek-v4-flash", "kimi-k2"),
    *("kimi-linear-48b-a3b", "llama-3-8b", "llama-3.1-405b", "qwen3-8b", "gpt-2"),
)


def _said_size(one: Preset) -> float:
    """Return the parameters that its name says, 0 where it says none."""
    said = SIZED.search(one.name)
    return float(said[1]) * SCALES[said[2]] if said else 0


def _kind(one: Preset) -> Mechanism:
    return mechanisms.of(one.config)


def _model(default: str, label: str, follows: Callable[[str], str]) -> Setting:
    return Setting(
        default,
        published,
        "selectbox",
        label,
        write=lambda key: preset_of(key).name,
        follows=follows,
        recorded=RECORDED,
    )


def _type(default: str, label: str) -> Setting:
    return Setting(default, type_of(*WIDTHS), "segmented_control", label, write=type_label)


def _batch(default: int) -> Setting:
    parse = power_of_two(BATCHES[0], BATCHES[-1])
    return Setting(default, parse, "select_slider", "kv_cache.batch", BATCHES)


def _shares(label: str) -> Setting:
    parse = power_of_two(RANKS[0], RANKS[-1])
    return Setting(1, parse, "select_slider", label, options=RANKS)


SETTINGS = {
    "kv_left": _model(LEFT, "kv_cache.model_left", left),
    "kv_right": _model(RIGHT, "kv_cache.model_right", contrast),
    "kv_groups": Setting(8, whole(1, 128), "select_slider"),
    "kv_layers": Setting(0, whole(0, 1024), "select_slider"),  # 0 is all
    "kv_batch": _batch(1),
    "kv_type": _type("bf16", "kv_cache.type"),
    "kv_context": Setting(
        CONTEXT,
        power_of_two(2**10, 2**20),
        "select_slider",
        follows=partial(longest, most=CONTEXT),
        recorded=True,
    ),
    "kv_ways": Setting("four", one_of(*WAYS), "segmented_control"),
    "kv_log": Setting(True, flag, "toggle", recorded=True),
    "kv_unit": Setting("GiB", one_of("GiB", "GB"), "segmented_control", write=str),
    "kv_gpu": Setting("h200", one_of(*GPUS), "selectbox", write=lambda key: GPUS[key].name),
    "kv_ranks": Setting(8, power_of_two(RANKS[0], RANKS[-1]), "select_slider", options=RANKS),
    "kv_attention": Setting("tensor", one_of(*ATTENTION), "segmented_control"),
    "kv_weights": _type("fp8", "kv_cache.weights"),
    "kv_own": Setting("", words(200)),  # a model of the reader's own, by name
    "kv_pipeline": _shares("dealing.pipeline"),  # of the reader's own model, as the next two
    "kv_dcp": _shares("dealing.dcp"),
    "kv_mtp": Setting(False, flag, "toggle", "dealing.mtp"),
    "kv_sequences": _batch(4),
}


class View(SimpleNamespace):
    """The page's settings by their names, without "kv_", and what follows from them.

    Attributes:
        scenes: the left model and the right one.
        language: the reader's.
    """

    scenes: tuple[Scene, Scene]
    language: str

    @property
    def contexts(self) -> tuple[int, ...]:
        """The lengths that are drawn: powers of two, or even steps up to the chosen length."""
        return CONTEXTS if self.log else tuple(range(0, self.context + 1, self.context // 32))

    @property
    def follows(self) -> str:
        """The slider that the line over these lengths goes along with; even steps end at it."""
        return "kv_context" if self.log else ""


def view() -> View:
    """Return what the settings choose."""
    return View(**vars(chosen("kv_cache")), scenes=scenes(), language=settings()["lang"])


def scenes() -> tuple[Scene, Scene]:
    """Return the two models that the settings choose."""
    s = settings()
    first = s["kv_view"] in OF_ONE_KIND
    layers = 0 if s["kv_view"] in OF_ALL_LAYERS else s["kv_layers"]
    choices = (s["kv_groups"], layers, s["kv_batch"], s["kv_type"], first)
    choices = (*choices, WAYS[s["kv_ways"]] if s["kv_view"] in OF_WAYS else ())
    return Scene(s["kv_left"], *choices), Scene(s["kv_right"], *choices)


def kv_heads(models: tuple[Scene, ...]) -> list[int]:
    """Return the numbers of KV heads that the heads of one of the models can share."""
    heads = [scene.preset.config.n_heads for scene in models]
    return sorted({n for all_heads in heads for n in divisors(all_heads)})


def most_caches(models: tuple[Scene, ...]) -> int:
    """Return the number of caches of the model that has most of them."""
    return max(scene.all_caches for scene in models)


def mend() -> list[Note]:
    """Bring KV heads, layers, context and GPUs to what one of the two models can have."""
    models = scenes()
    heads = max(scene.preset.config.n_heads for scene in models)
    groups = max(n for n in kv_heads(models) if n <= settings()["kv_groups"])
    notes = nearest(kv_groups=groups) + at_most(kv_layers=most_caches(models))
    notes += at_most(kv_context=longest(*(scene.key for scene in models)))
    return notes + at_most(kv_ranks=1 << heads.bit_length() - 1)
