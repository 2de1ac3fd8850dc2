"""The kind of one layer of a model, as its config.json tells it.

DeepSeek-V4's layers are only a window, CSA or HCA, each with its own rotation. Files say it in two
ways: a word a layer under layer_types, as transformers writes it, or how many tokens an entry pools
under compress_ratios, as repositories publish it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kvcount import checks
from kvcount.files.config_json import checked, entry, value_of
from kvcount.files.errors import CheckpointError
from kvcount.reading import latents
from kvcount.reading.keys import Keys
from mla_engine.checkpoints.rotation import ROPE_TABLES, rope_tables

Entries = Mapping[str, Any]

WINDOWS: Mapping[str, Callable[[Entries, int], bool]] = {
    "even": lambda config, layer: layer % 2 == 0,
    "late": lambda config, layer: (
        bool(config.get("use_sliding_window")) and layer >= value_of(config, ["max_window_layers"])
    ),
    "pattern": lambda config, layer: (layer + 1) % _pattern(config) != 0,
}
SLIDING = {"sliding_attention": True, "full_attention": False}
LINEAR = {
    "linear_attention": True,
    "full_attention": False,
    "indexed_attention": False,
    "deepseek_sparse_attention": False,  # as GLM-5.3-Flash's own file has it
}
WINDOW, CSA, HCA = (
    "sliding_attention",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
)
RATIOS = {0: WINDOW, 4: CSA, 128: HCA}
POOLING = {CSA: ("compress_rate_csa", 4), HCA: ("compress_rate_hca", 128)}
INDEXER = {
    "index_topk": "index_topk",
    "n_index_heads": "index_n_heads",
    "d_index": "index_head_dim",
}
COMPRESSED_THETA = 160000.0  # where config.json names none, as in transformers


def window(row: Entries, config: Entries, layer: int) -> dict[str, int]:
    """Return the sliding window of this layer, if its family has such layers."""
    rule, types = row.get("window"), config.get("layer_types")
    if rule is None:
        return {}
    slides = WINDOWS[rule](config, layer) if types is None else _of_type(types, layer, SLIDING)
    return {"sliding_window": value_of(config, ["sliding_window"])} if slides else {}


def _pattern(config: Entries) -> int:
    """Return after how many layers one without a window comes."""
    key = "sliding_window_pattern"
    return checked(checks.whole, key, value_of(config, [key, 6]))


def with_rotation_of_type(row: Entries, config: Entries, slides: bool) -> dict[str, Any]:
    """Return config.json with only the rotation of layers with a window, or of those without.

    transformers writes a table for each; published files have the full layers' own, and beside it
    the base of the sliding ones, which have no scaling.
    """
    kind = "sliding_attention" if slides else "full_attention"
    scaling, both = rope_tables(config)
    if both.keys() - SLIDING.keys():
        raise CheckpointError("unknown_entry", key="rope_parameters", value=both)
    if both:
        own = both.get(kind) or {}
    elif slides:
        own = {"rope_theta": config.get("rope_local_base_freq")}
    else:
        own = scaling | {"rope_theta": config.get("rope_theta")}
    own = {key: value for key, value in own.items() if value is not None}
    gone = (*ROPE_TABLES, "rope_theta", "rope_local_base_freq")
    rest = {key: value for key, value in config.items() if key not in gone}
    return rest | {"rope_parameters": {"rope_theta": row["rope_by_type"][kind]} | own}


def indexer(row: Entries, config: Entries, layer: int) -> dict[str, Any]:
    """Say how this layer's indexer pairs, and whether it takes the choice of an earlier layer."""
    if "index_pairing" not in row:
        return {}
    own = {"index_pairing": row["index_pairing"]}
    if not row.get("shares_choice"):
        return own
    return own | {"index_shared": not latents.chooses(Keys(config), layer)}


def is_linear(config: Entries, layer: int) -> bool:
    """Return whether this layer of a hybrid has linear attention: files say so in three ways.

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


def pooled_kind(config: Entries, layer: int) -> str:
    """Return WINDOW, CSA or HCA.

    Raises:
        CheckpointError: a list that does not say what this layer is.
    """
    types, ratios = config.get("layer_types"), config.get("compress_ratios")
    if types is None and ratios is None:  # as transformers has it then
        return HCA if layer < 2 or layer % 2 == 0 else CSA
    if types is not None:
        return _of_type(types, layer, {kind: kind for kind in RATIOS.values()})
    ratio = _marked(ratios, layer, RATIOS)
    if ratio is None:
        known = ", ".join(map(str, RATIOS))
        raise CheckpointError("compress_ratios", ratios=ratios, layer=layer, known=known)
    return ratio


def pooling(config: Entries, layer: int) -> dict[str, Any]:
    """Return the fields that say what a layer pools and chooses; none of a mere window."""
    kind = pooled_kind(config, layer)
    if kind == WINDOW:
        return {}
    key, usual = POOLING[kind]
    rates = config.get("compress_rates")
    usual = rates.get(kind, usual) if isinstance(rates, dict) else usual
    fields = {"pooling": value_of(config, [key, usual]), "overlap": kind == CSA}
    checks.whole(key, fields["pooling"])
    if kind == CSA:
        fields |= {name: value_of(config, [key]) for name, key in INDEXER.items()}
    return fields


def with_own_rotation(config: Entries, layer: int) -> dict[str, Any]:
    """Return config.json with only the rotation of this layer, where other families have theirs.

    Windows turn by rope_theta, without scaling; CSA and HCA by compress_rope_theta and with YaRN,
    whose stretch of cos and sin V4 leaves out.
    """
    plain = pooled_kind(config, layer) == WINDOW
    scaling, parameters = rope_tables(config)
    table = parameters or scaling
    if "main" in table and "compress" in table:
        own = table["main" if plain else "compress"]
    elif plain:
        own = {"rope_theta": value_of(config, ["rope_theta"])}
    else:
        theta = value_of(config, ["compress_rope_theta", COMPRESSED_THETA])
        own = dict(table) | {"rope_theta": theta}
        if "yarn" in (own.get("rope_type"), own.get("type")):
            own.setdefault("attention_factor", 1.0)
    gone = (*ROPE_TABLES, "rope_theta", "compress_rope_theta")
    return {key: value for key, value in config.items() if key not in gone} | {
        "rope_parameters": own
    }


def _of_type(types: object, layer: int, meanings: Mapping[str, Any]) -> Any:
    """Return what layer_types says of this layer; CheckpointError where it says nothing known."""
    found = _marked(types, layer, meanings)
    if found is None:
        known = ", ".join(meanings)
        raise CheckpointError("layer_types", types=types, layer=layer, known=known)
    return found


def _marked(types: object, layer: int, meanings: Mapping[Any, Any]) -> Any:
    """Return the meaning of a layer's word or number in a list; None where none is known."""
    word = types[layer] if isinstance(types, list) and len(types) > layer else None
    return meanings.get(word) if isinstance(word, str | int) else None
