"""What sets one layer of a model apart from the others, as its config.json tells it."""

from collections.abc import Callable, Mapping
from typing import Any

from mla_engine.checkpoints.entries import entry, value_of
from mla_engine.checkpoints.errors import CheckpointError

Entries = Mapping[str, Any]

WINDOWS: Mapping[str, Callable[[Entries, int], bool]] = {
    "even": lambda config, layer: layer % 2 == 0,
    "late": lambda config, layer: (
        bool(config.get("use_sliding_window")) and layer >= value_of(config, ["max_window_layers"])
    ),
}
SLIDING = {"sliding_attention": True, "full_attention": False}
SHARED = {"shared": True, "full": False}
LINEAR = {
    "linear_attention": True,
    "full_attention": False,
    "indexed_attention": False,
    "deepseek_sparse_attention": False,  # as GLM-5.3-Flash's own file has it
}


def window(row: Entries, config: Entries, layer: int) -> dict[str, int]:
    """The sliding window of this layer, if its family has such layers."""
    rule, types = row.get("window"), config.get("layer_types")
    if rule is None:
        return {}
    slides = WINDOWS[rule](config, layer) if types is None else _of_type(types, layer, SLIDING)
    return {"sliding_window": value_of(config, ["sliding_window"])} if slides else {}


def indexer(row: Entries, config: Entries, layer: int) -> dict[str, Any]:
    """How this layer's indexer pairs, and whether it takes the choice of an earlier layer."""
    if "index_pairing" not in row:
        return {}
    own = {"index_pairing": row["index_pairing"]}
    types = config.get("indexer_types") if row.get("shares_choice") else None
    if types is None:
        return own
    shared = _marked(types, layer, SHARED)
    if shared is None:
        known = ", ".join(SHARED)
        raise CheckpointError("indexer_types", types=types, layer=layer, known=known)
    return own | {"index_shared": shared}


def is_linear(config: Entries, layer: int) -> bool:
    """Whether this layer of a hybrid has linear attention: files say so in three ways.

    Raises:
        CheckpointError: this one does not, or says something else.
    """
    types, group = config.get("layer_types"), config.get("layer_group_size")
    if types is None:
        for name, linear in (("kda_layers", True), ("full_attn_layers", False)):
            numbers = entry(config, f"linear_attn_config.{name}")  # which count from 1
            if isinstance(numbers, list) and layer + 1 in numbers:
                return linear
        if isinstance(group, int) and group > 0:
            return (layer + 1) % group != 0  # the last of each group is not
    return _of_type(types, layer, LINEAR)


def _of_type(types: object, layer: int, meanings: Mapping[str, bool]) -> bool:
    """What layer_types says of this layer; CheckpointError where it says nothing known."""
    found = _marked(types, layer, meanings)
    if found is None:
        known = ", ".join(meanings)
        raise CheckpointError("layer_types", types=types, layer=layer, known=known)
    return found


def _marked(types: object, layer: int, meanings: Mapping[str, bool]) -> bool | None:
    """The meaning of a layer's word in a list; None where there is no known one."""
    word = types[layer] if isinstance(types, list) and len(types) > layer else None
    return meanings.get(word) if isinstance(word, str) else None
