"""The kind of each layer of a model: one rule a model_type, out of model_types.toml."""

from collections.abc import Callable, Mapping
from itertools import cycle, islice
from typing import Any

from kvcount import checks
from kvcount.reading.keys import MOST_LAYERS, Keys, UncountedError

LAYER_TYPES = {  # of transformers' layer_types
    "full_attention": "full",
    "attention": "full",
    "indexed_attention": "full",
    "deepseek_sparse_attention": "full",
    "qwen_sparse_attention": "full",
    "sliding_attention": "window",
    "chunked_attention": "chunk",
    "linear_attention": "linear",
    "mamba": "linear",
    "conv": "conv",
    "hybrid": "hybrid",
    "hybrid_sliding": "hybrid_window",
    "compressed_sparse_attention": "csa",
    "heavily_compressed_attention": "hca",
    "minimax_m3_sparse": "blocks",
    "moe": "none",
    "mlp": "none",
}
Rule = Callable[[Keys, Any], list[str] | None]


def kinds(keys: Keys, row: Mapping[str, Any]) -> list[str]:
    """Return the kind of each layer by its code: "full", "window", "linear" and so on.

    Raises:
        UncountedError, RefusedError: a list of another length, or with an unknown entry.
    """
    for name in ("layer_types", "layers_block_type"):
        if keys.get(name) is not None:
            return _means(keys, name, LAYER_TYPES)
    if "unless" in row and not _bounds(keys, row["unless"], whole="all" in row):
        return ["full"] * keys.n_layers
    for name, rule in RULES.items():
        if name in row and (found := rule(keys, row[name])) is not None:
            return found
    if "all" in row:
        return [row["all"]] * keys.n_layers
    if "listed" in row:
        keys.need(row["listed"]["key"])
    return ["full"] * keys.n_layers


def _bounds(keys: Keys, name: str, *, whole: bool) -> bool:
    """Tell if there is a window; of all layers, a shorter one than the context.

    Phi-4-mini's is longer, and none.
    """
    given = keys.get(name)
    if given in (None, 0) or given is True:
        return given is True
    return not whole or keys.max_context is None or keys.whole(name) < keys.max_context


def beyond(keys: Keys, row: Mapping[str, Any]) -> list[str]:
    """Return the kinds that a list has beyond the last layer: those of MTP layers."""
    own = [(row["listed"]["key"], row["listed"]["means"])] if "listed" in row else []
    for name, means in (("layer_types", LAYER_TYPES), ("layers_block_type", LAYER_TYPES), *own):
        if isinstance(listed := keys.get(name), list | str):
            return [
                means[_said(entry)] for entry in listed[keys.n_layers :] if _said(entry) in means
            ]
    return []


def _means(keys: Keys, name: str, means: Mapping[str, str], *, repeated: bool = False) -> list[str]:
    """Read a list with an entry a layer; entries beyond the last layer are of MTP."""
    listed, n_layers = keys.list(name), keys.n_layers
    if repeated and listed:
        listed = [listed[layer % len(listed)] for layer in range(n_layers)]
    most = n_layers + keys.whole_or("num_nextn_predict_layers", 0, least=0)
    if not n_layers <= len(listed) <= most:
        raise UncountedError("list_length", key=name, given=len(listed), wanted=n_layers)
    for entry in listed[:n_layers]:
        checks.choice(f"an entry of {name}", _said(entry), means)
    return [means[_said(entry)] for entry in listed[:n_layers]]


def _said(entry: object) -> object:
    """A number of a list as the table has it; a bool or a list is no entry."""
    return str(entry) if isinstance(entry, int) and not isinstance(entry, bool) else entry


def _usual(keys: Keys, rule: Mapping[str, Any]) -> list[str]:
    first, then = rule["first"], rule["then"]
    return [*first, *islice(cycle(then), keys.n_layers)][: keys.n_layers]


def _listed(keys: Keys, rule: Mapping[str, Any]) -> list[str] | None:
    given = keys.get(rule["key"])
    if given is None or (rule.get("repeated") and isinstance(given, int)):  # a period, for `every`
        return None
    return _means(keys, rule["key"], rule["means"], repeated=rule.get("repeated", False))


def _every(keys: Keys, rule: Mapping[str, Any]) -> list[str]:
    step = keys.whole_or(rule.get("key", ""), rule["number"])
    return _split(keys, lambda layer: (layer + 1) % step == 0, rule["other"])


def _numbered(keys: Keys, rule: Mapping[str, Any]) -> list[str]:
    first, n_layers = rule["first"], keys.n_layers
    for number in keys.list(rule["key"]):
        name = f"a layer of {rule['key']}"
        checks.whole(name, number, least=first, most=n_layers - 1 + first)
    numbers = set(keys.list(rule["key"]))
    return _split(keys, lambda layer: layer + first in numbers, rule["other"], rule.get("are"))


def _stepped(keys: Keys, rule: Mapping[str, Any]) -> list[str]:
    period = keys.whole(rule["period"])
    amid = min(period // 2, keys.n_layers - 1)
    offset = keys.whole(rule["offset"], least=0) if "offset" in rule else amid
    return _split(keys, lambda layer: layer % period == offset, rule["other"])


def _late(keys: Keys, name: str) -> list[str]:
    if not keys.flag("use_sliding_window", False):
        return ["full"] * keys.n_layers
    first = keys.whole(name, least=0, most=MOST_LAYERS)
    return _split(keys, lambda layer: layer < first, "window")


def _split(
    keys: Keys, chosen: Callable[[int], bool], other: str, are: str | None = None
) -> list[str]:
    return [are or "full" if chosen(layer) else other for layer in range(keys.n_layers)]


RULES: dict[str, Rule] = {
    "listed": _listed,
    "every": _every,
    "numbered": _numbered,
    "stepped": _stepped,
    "late": _late,
    "usual": _usual,
}
