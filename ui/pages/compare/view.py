"""What the comparison shows: two layers, A and B, and where they differ."""

from dataclasses import dataclass

import pandas as pd

from mla_engine import PRESETS, GroupedConfig, LatentConfig, costs
from mla_engine.costs import Cost
from ui.engine import layers as compute
from ui.engine import model
from ui.engine import real_layer as source
from ui.pages.compare.settings import SHARED_SIZES
from ui.parts.flow import FORMS, TOKENS, Overview
from ui.settings import state
from ui.settings.page import Note
from ui.settings.shared import VARIANTS
from ui.words.numbers import count, digits, size, times
from ui.words.text import safe, t

SIDES = {"A": "vs_left", "B": "vs_right"}
OWN = "own"
BF16_BYTES = 2
DIFFERS = "≠"


@dataclass(frozen=True)
class Side:
    """One layer: of a published model or what the sidebar has, in a variant.

    Where that is a real layer `loaded` names it, whether its weights fit the variant or not.
    """

    letter: str
    model: str
    config: GroupedConfig | LatentConfig
    variant: str
    loaded: source.RealLayer | None = None

    @property
    def form(self) -> str:
        """How it is computed: "expanded", "absorbed" or "grouped"."""
        return FORMS.get(self.variant, "grouped")

    @property
    def name(self) -> str:
        """Letter, model and variant, as plain text."""
        return self._named(self.model)

    @property
    def shown_name(self) -> str:
        """The same as Markdown."""
        return self._named(safe(self.model) if self.loaded else self.model)

    def _named(self, of_model: str) -> str:
        variant = t(f"common.{self.variant}")
        return t("compare.name", letter=self.letter, model=of_model, variant=variant)

    @property
    def origin(self) -> source.Origin:
        """Where its weights come from."""
        return model.origin(self.config) if self.loaded else state.settings()["seed"]

    @property
    def overview(self) -> Overview:
        """Its data flow."""
        return Overview(self.config, self.form)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every step, by its code."""
        return compute.shapes(self.config, self.form, TOKENS)

    @property
    def preset(self) -> str | None:
        """The published model that the sizes are from."""
        if self.loaded:
            return None
        chosen = state.settings()[SIDES[self.letter]]
        chosen = state.settings()["preset"] if chosen == SHARED_SIZES else chosen
        return chosen if chosen in PRESETS else None

    def decode(self, context: int) -> Cost:
        """One token after `context` others, with the cache of this form."""
        return costs.decode(self.config, context, None if self.form == "grouped" else self.form)

    def prefill(self, tokens: int) -> Cost:
        """All of `tokens` tokens at once."""
        return costs.prefill(self.config, tokens, None if self.form == "grouped" else self.form)


def side(letter: str) -> Side:
    """What the settings choose for A or B.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    s = state.settings()
    key, variant = s[SIDES[letter]], s[f"{SIDES[letter]}_as"]
    if key == SHARED_SIZES:
        variant = model.present_variant() if variant == OWN else variant
        return Side(letter, _shared_name(), model.config(variant), variant, source.chosen())
    if variant == OWN:
        variant = PRESETS[key].kind.lower() if key in PRESETS else "mla"
        config = PRESETS[key].config if key in PRESETS else model.SMALL_CONFIG
        return Side(letter, model.preset_name(key), config, variant)
    origin = PRESETS[key].config if key in PRESETS else model.SMALL_CONFIG
    config = model.built(origin, model.sizes_of(key), variant)
    return Side(letter, model.preset_name(key), config, variant)


def _shared_name() -> str:
    name, own = model.shown_name(), source.chosen() or not model.changed_sizes()
    return name if own else t("compare.changed", model=name)


def _layers(one: Side) -> str:
    if one.loaded:
        return count(source.plan(one.loaded).n_layers)
    return count(PRESETS[one.preset].n_layers) if one.preset else t("compare.none")


def differing(a: Side, b: Side) -> dict[str, str]:
    """Code of a step -> how it differs: only in A, only in B, or in its shape."""
    found = {}
    for code in dict.fromkeys((*a.shapes, *b.shapes)):
        if code not in b.shapes:
            found[code] = "only_a"
        elif code not in a.shapes:
            found[code] = "only_b"
        elif a.shapes[code] != b.shapes[code]:
            found[code] = "shape"
    return found


def sizes(one: Side) -> dict[str, str]:
    """Label key -> a size or convention of one side, as text."""
    config = one.config
    latent, rope = isinstance(config, LatentConfig), config.rope
    none = t("compare.none")
    grouped_rope = config.d_head if rope else 0
    scaling = rope.scaling if rope else None
    return {
        "d_model": count(config.d_model),
        "n_heads": count(config.n_heads),
        "n_kv_heads": none if latent else count(config.n_kv_heads),
        "d_head": count(config.d_head),
        "d_rope": count(config.d_rope if latent else grouped_rope) if rope else none,
        "d_value": count(config.d_value),
        "d_latent_kv": count(config.d_latent_kv) if latent else none,
        "d_latent_q": count(config.d_latent_q) if latent and config.d_latent_q else none,
        "theta": count(rope.theta) if rope else none,
        "pairing": t(f"compare.pairing_{rope.pairing}") if rope else none,
        "scaling": t(f"compare.scaling_{type(scaling).__name__}") if scaling else none,
        "scale": digits(config.scale, 4),
        "layers": _layers(one),
        "cache": count(costs.cache_elements(config)),
        "parameters": f"{digits(costs.parameters(config) / 1e6)} M",
    }


def size_table(a: Side, b: Side) -> pd.DataFrame:
    """The sizes of both, those that differ marked."""
    left, right = sizes(a), sizes(b)
    rows = {
        t(f"compare.size_{name}"): (left[name], right[name], _mark(left[name], right[name]))
        for name in left
    }
    columns = [a.letter, b.letter, DIFFERS]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _mark(left: object, right: object) -> str:
    return DIFFERS if left != right else ""


def amounts(one: Side, context: int) -> dict[str, float]:
    """Label key -> a cost of one layer and one sequence, in bytes, FLOPs or their ratio."""
    step, first = one.decode(context), one.prefill(context)
    return {
        "held_bytes": costs.cache_bytes_per_token(one.config, BF16_BYTES) * context,
        "weight_bytes": step.weight_bytes,
        "read_bytes": step.total_bytes,
        "step_flops": step.total_flops,
        "step_intensity": step.flops_per_byte,
        "prefill_flops": first.total_flops,
        "prefill_intensity": first.flops_per_byte,
    }


def cost_table(a: Side, b: Side, context: int) -> pd.DataFrame:
    """The costs of both with their ratio, those that differ marked."""
    left, right = amounts(a, context), amounts(b, context)
    rows = {
        t(f"compare.cost_{name}"): (
            written(name, left[name]),
            written(name, right[name]),
            f"{_mark(left[name], right[name])} {times(right[name] / left[name])}",
        )
        for name in left
    }
    columns = [a.letter, b.letter, t("compare.ratio")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def written(name: str, amount: float) -> str:
    """An amount with its unit."""
    if name.endswith("bytes"):
        return size(amount)
    if name.endswith("flops"):
        return flops(amount)
    return f"{digits(amount)} FLOP/B"


def flops(amount: float) -> str:
    """FLOPs with a prefix, "1.35 GFLOP"."""
    for prefix, unit in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if amount >= unit:
            return f"{digits(amount / unit)} {prefix}FLOP"
    return f"{digits(amount)} FLOP"


def mend() -> list[Note]:
    """Bring the head to the last one of the side that has more."""
    keys = [state.settings()[name] for name in SIDES.values()]
    sizes = [model.sizes() if k == SHARED_SIZES else model.sizes_of(k) for k in keys]
    return state.at_most(vs_head=max(size["n_heads"] for size in sizes) - 1)


def variant_label(code: str) -> str:
    """A variant in the reader's language."""
    return t("compare.own") if code == OWN else t(f"common.{code}")


def variants() -> tuple[str, ...]:
    """What a side can be shown as."""
    return (OWN, *VARIANTS)
