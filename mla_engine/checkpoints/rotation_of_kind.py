"""The rotation of one layer, where layers of one model are rotated differently.

In Gemma 3 layers with a window have a base of their own, in DeepSeek-V4 those whose tokens are
pooled. Files of both name the rotations in two ways.
"""

from collections.abc import Mapping
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.reading.keys import Keys
from mla_engine.checkpoints.rotation import ROPE_TABLES, rope_tables
from mla_engine.checkpoints.sources import value_of

Entries = Mapping[str, Any]

OF_KIND = {"window": "sliding_attention", "full": "full_attention"}  # as rope_parameters names them


def with_rotation_of_kind(row: Entries, config: Entries, kind: str) -> Entries:
    """Return config.json with only the rotation of layers of this kind.

    Raises:
        CheckpointError: an entry that is no table, or is of an unknown kind.
    """
    if "rope_by_type" in row:
        own, gone = _by_type(row, config, OF_KIND[kind]), "rope_local_base_freq"
    elif "rope_of_entries" in row:
        own, gone = _of_entries(row, config, kind), "compress_rope_theta"
    else:
        return config
    rest = {key: config[key] for key in config if key not in (*ROPE_TABLES, "rope_theta", gone)}
    return rest | {"rope_parameters": own}


def _by_type(row: Entries, config: Entries, name: str) -> Entries:
    """Say how layers with a window are rotated, or those without.

    transformers writes a table for each; published files have the full layers' own, and beside it
    the base of the sliding ones, which have no scaling.
    """
    scaling, both = rope_tables(config)
    if both.keys() - OF_KIND.values():
        raise CheckpointError("unknown_entry", key="rope_parameters", value=both)
    if both:
        own = both.get(name) or {}
    elif name == OF_KIND["window"]:
        own = {"rope_theta": config.get("rope_local_base_freq")}
    else:
        own = scaling | {"rope_theta": config.get("rope_theta")}
    own = {key: value for key, value in own.items() if value is not None}
    return {"rope_theta": row["rope_by_type"][name]} | own


def _of_entries(row: Entries, config: Entries, kind: str) -> Entries:
    """Say how a mere window is rotated, or layers with entries.

    Windows turn by rope_theta, without scaling; CSA and HCA by compress_rope_theta and with YaRN,
    whose stretch of cos and sin V4 leaves out.
    """
    plain = kind == "window"
    scaling, parameters = rope_tables(config)
    table = parameters or scaling
    if "main" in table and "compress" in table:
        return table["main" if plain else "compress"]
    if plain:
        return {"rope_theta": value_of(Keys(config), ["rope_theta"])}
    theta = value_of(Keys(config), ["compress_rope_theta", row["rope_of_entries"]])
    own = dict(table) | {"rope_theta": theta}
    if "yarn" in (own.get("rope_type"), own.get("type")):
        own.setdefault("attention_factor", 1.0)
    return own
