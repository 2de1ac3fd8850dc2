"""What a layer of DeepSeek-V4 is: a window alone, CSA or HCA, each with its own rotation.

Files say it in two ways: a word a layer under layer_types, as transformers writes it, or how many
tokens an entry pools under compress_ratios, as repositories publish it.
"""

from collections.abc import Mapping
from typing import Any

from mla_engine import checks
from mla_engine.checkpoints.entries import value_of
from mla_engine.checkpoints.errors import CheckpointError

Entries = Mapping[str, Any]

WINDOW, CSA, HCA = (
    "sliding_attention",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
)
RATIOS = {0: WINDOW, 4: CSA, 128: HCA}
POOLING = {CSA: ("compress_rate_csa", 4), HCA: ("compress_rate_hca", 128)}
INDEXER = {"index_topk": "index_topk", "n_index_heads": "index_n_heads"}
INDEXER |= {"d_index": "index_head_dim"}
COMPRESSED_THETA = 160000.0  # where config.json names none, as in transformers


def kind_of(config: Entries, layer: int) -> str:
    """WINDOW, CSA or HCA.

    Raises:
        CheckpointError: a list that does not say what this layer is.
    """
    types, ratios = config.get("layer_types"), config.get("compress_ratios")
    if types is None and ratios is None:  # as transformers has it then
        return HCA if layer < 2 or layer % 2 == 0 else CSA
    said, known, code = types, {kind: kind for kind in RATIOS.values()}, "layer_types"
    if types is None:
        said, known, code = ratios, RATIOS, "compress_ratios"
    word = said[layer] if isinstance(said, list) and len(said) > layer else None
    if isinstance(word, str | int) and word in known:
        return known[word]
    listed = ", ".join(map(str, known))
    if code == "layer_types":
        raise CheckpointError("layer_types", types=said, layer=layer, known=listed)
    raise CheckpointError("compress_ratios", ratios=said, layer=layer, known=listed)


def pooling(config: Entries, layer: int) -> dict[str, Any]:
    """The fields that say what a layer pools and chooses; none of a window alone."""
    kind = kind_of(config, layer)
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
    """config.json with the rotation of this layer alone, where other families have theirs.

    Windows turn by rope_theta, without scaling; CSA and HCA by compress_rope_theta and with YaRN,
    whose stretch of cos and sin V4 leaves out.
    """
    plain = kind_of(config, layer) == WINDOW
    table = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(table, dict):
        raise CheckpointError("no_table", name="rope_parameters", table=table)
    if "main" in table and "compress" in table:
        own = table["main" if plain else "compress"]
    elif plain:
        own = {"rope_theta": value_of(config, ["rope_theta"])}
    else:
        theta = value_of(config, ["compress_rope_theta", COMPRESSED_THETA])
        own = dict(table) | {"rope_theta": theta}
        if "yarn" in (own.get("rope_type"), own.get("type")):
            own.setdefault("attention_factor", 1.0)
    gone = ("rope_parameters", "rope_scaling", "rope_theta", "compress_rope_theta")
    return {key: value for key, value in config.items() if key not in gone} | {
        "rope_parameters": own
    }
