"""The tables of the comparison: sizes, steps and costs of both layers, what differs marked."""

from mla_engine import costs
from mla_engine.lazy import LazyModule
from ui.engine import real_layer, trained
from ui.engine.trained_layer import TrainedLayer
from ui.pages.compare.side import BF16_BYTES, Side
from ui.pages.compare.view import View
from ui.settings.parsers import preset_of
from ui.words.numbers import (
    amount,
    count,
    digits,
    flop,
    in_millions,
    intensity,
    millions,
    size,
    times,
)
from ui.words.text import scaling_name, t

pd = LazyModule("pandas")

DIFFERS = "≠"


def _mark(left: object, right: object) -> str:
    return DIFFERS if left != right else ""


OWN = ("n_index_heads", "d_index", "index_topk", "window", "pooling", "conv_width", "fixed")
"""Told where one of the two has it."""


def sizes(view: View) -> "pd.DataFrame":
    """The sizes and conventions of both, those that differ marked."""
    left, right = (_sizes(side) for side in view.sides)
    rows = {
        t(f"compare.size_{name}"): (left[name], right[name], _mark(left[name], right[name]))
        for name in left
        if name not in OWN or {left[name], right[name]} != {t("compare.none")}
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["A", "B", DIFFERS])


def _sizes(side: Side) -> dict[str, str]:
    """Label key -> a size or convention of one side, as text."""
    config, own = side.config, vars(side.config)
    return {
        "d_model": count(config.d_model),
        "n_heads": count(config.n_heads),
        "n_kv_heads": _count(own.get("n_kv_heads")),
        "d_head": count(config.d_head),
        "d_rope": _count(own.get("d_rope", config.d_head) if config.rope else None),
        "d_value": count(config.d_value),
        "d_latent_kv": _count(own.get("d_latent_kv")),
        "d_latent_q": _count(own.get("d_latent_q")),
        **{name: _count(own.get(name)) for name in OWN if name != "fixed"},
        **_rotation(side),
        "scale": digits(config.scale, 4),
        "layers": _count(_n_layers(side)),
        "cache": amount(costs.cache_elements(config)),
        "fixed": size(fixed) if (fixed := costs.fixed_bytes(config, BF16_BYTES)) else _count(None),
        "parameters": _parameters(side),
    }


def _rotation(side: Side) -> dict[str, str]:
    rope, none = side.config.rope, t("compare.none")
    return {
        "theta": count(rope.theta) if rope else none,
        "pairing": t(f"compare.pairing_{rope.pairing}") if rope else none,
        "scaling": scaling_name(rope) or none if rope else none,
    }


def _count(value: int | None) -> str:
    return t("compare.none") if value is None else count(value)


def _parameters(side: Side) -> str:
    """In millions; those of a small trained model in full."""
    found = costs.parameters(side.config)
    return millions(found) if isinstance(side.origin, TrainedLayer) else in_millions(found)


def _n_layers(side: Side) -> int | None:
    if isinstance(side.origin, TrainedLayer):
        return trained.load(side.origin.code).config.n_layers
    if side.loaded:
        return real_layer.plan(side.loaded).n_layers
    return preset_of(side.preset).n_layers if side.preset else None


def differing(view: View) -> dict[str, str]:
    """Code of a step -> how it differs: only in A, only in B, or in its shape."""
    left, right = view.a.shapes, view.b.shapes
    found = {}
    for code in dict.fromkeys((*left, *right)):
        if code not in right:
            found[code] = "only_a"
        elif code not in left:
            found[code] = "only_b"
        elif left[code] != right[code]:
            found[code] = "shape"
    return found


def steps(view: View) -> "pd.DataFrame":
    """Every step with its shape on both sides, and how it differs."""
    left, right, marked = view.a.shapes, view.b.shapes, differing(view)
    rows = [
        (code, str(list(left.get(code, ()))), str(list(right.get(code, ()))), marked.get(code, ""))
        for code in dict.fromkeys((*left, *right))
    ]
    return pd.DataFrame(rows, columns=["step", "shape_a", "shape_b", "differs"])


def _amounts(side: Side, context: int) -> dict[str, float]:
    """Label key -> a cost of one layer and one sequence, in bytes, FLOPs or their ratio."""
    step, first = side.decode(context), side.prefill(context)
    return {
        "held_bytes": costs.held_bytes(side.config, context, BF16_BYTES),
        "weight_bytes": step.weight_bytes,
        "read_bytes": step.total_bytes,
        "step_flops": step.total_flops,
        "step_intensity": step.flops_per_byte,
        "prefill_flops": first.total_flops,
        "prefill_intensity": first.flops_per_byte,
    }


def amounts(view: View) -> "pd.DataFrame":
    """The costs of both as numbers."""
    numbers = {side.letter: _amounts(side, view.context) for side in view.sides}
    return pd.DataFrame(numbers).rename_axis("amount").reset_index()


def costs_of_both(view: View) -> "pd.DataFrame":
    """The costs of both with their ratio, those that differ marked."""
    left, right = (_amounts(side, view.context) for side in view.sides)
    rows = {
        t(f"compare.cost_{name}"): (
            _written(name, left[name]),
            _written(name, right[name]),
            f"{_mark(left[name], right[name])} {times(right[name] / left[name])}".strip(),
        )
        for name in left
    }
    columns = ["A", "B", t("compare.ratio")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _written(name: str, amount: float) -> str:
    """An amount with its unit, which its name ends with."""
    return {"bytes": size, "flops": flop, "intensity": intensity}[name.split("_")[-1]](amount)
