"""Which configuration of the engine equals an attention of a published model: by a table.

The table is data/families.toml. What an entry of config.json means is written there, once a
family; what the engine cannot reproduce exactly is refused here, never approximated.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any

from mla_engine import checks, mechanisms
from mla_engine.checkpoints.entries import value_of
from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.rotation import CONTEXT, rope_config, rope_entries
from mla_engine.config import AttentionConfig
from mla_engine.refusals import Phrase, either

MOST_LAYERS = 1024  # Llama-3.1-405B has 126


@dataclass(frozen=True)
class Family:
    """One row of the table: `row` holds its columns, those of its kind included."""

    model_type: str
    row: Mapping[str, Any]

    @property
    def is_latent(self) -> bool:
        """Whether it has Multi-head Latent Attention, with an indexer or without."""
        return "d_latent_kv" in self.row["fields"]

    @property
    def spellings(self) -> tuple[str, ...]:
        """Its model_type, and what else repositories write for it."""
        return (self.model_type, *self.row.get("also", ()))

    def attention(self, layer: int) -> str:
        """The path of attention number `layer`, with a dot behind."""
        block, sublayer = divmod(layer, self.row["sublayers"])
        return self.row["attention"].format(layer=block, sublayer=sublayer)


TABLES = ("fields", "only", "tensors")
ANY = "any"  # instead of the values of a key that the engine models


def _load() -> dict[str, Family]:
    text = resources.files("mla_engine").joinpath("data/families.toml").read_text("utf-8")
    table = tomllib.loads(text)
    kinds = {}
    for name, own in table["kinds"].items():  # one that extends another stands behind it
        kinds[name] = _over(kinds[own["extends"]], own, *TABLES) if "extends" in own else own
    return {
        name: Family(name, MappingProxyType(_over(kinds[own["kind"]], own, "fields", "only")))
        for name, own in table["families"].items()
    }


def _over(row: dict[str, Any], own: dict[str, Any], *tables: str) -> dict[str, Any]:
    """A row with its own entries over another's; these tables key by key."""
    return row | own | {key: row[key] | own.get(key, {}) for key in tables}


FAMILIES: Mapping[str, Family] = MappingProxyType(_load())
_SPELLED = {name: family for family in FAMILIES.values() for name in family.spellings}


def family_of(config: Mapping[str, Any]) -> tuple[Family, dict[str, Any]]:
    """The family, and the part of config.json that speaks of text.

    A model of texts and images has its language model's config under text_config.

    Raises:
        CheckpointError: a model_type that is not in the table.
    """
    inner = config.get("text_config")
    for part in (config, inner if isinstance(inner, dict) else {}):
        name = part.get("model_type")
        if isinstance(name, str) and name in _SPELLED:
            return _SPELLED[name], dict(part)
    raise CheckpointError(
        "family",
        model_type=config.get("model_type"),
        architectures=config.get("architectures"),
        known=", ".join(FAMILIES),
    )


def n_attentions(config: Mapping[str, Any]) -> int:
    """How many attentions the model has: LongCat has two a layer.

    Raises:
        CheckpointError: an unknown family, or no number of layers.
    """
    family, config = family_of(config)
    layers = value_of(config, [family.row["layers"]])
    try:
        checks.whole(family.row["layers"], layers, most=MOST_LAYERS)
    except ValueError as error:
        raise CheckpointError("at", where="config.json", reason=error) from error
    return layers * family.row["sublayers"]


def attention_config(config: Mapping[str, Any], layer: int) -> AttentionConfig:
    """The engine's configuration of attention number `layer`, from 0.

    Args:
        config: the parsed config.json, as transformers writes it or as repositories publish it.
        layer: counts attentions.

    Raises:
        CheckpointError: an unknown family, a layer out of range, a missing key, a rotation that is
            unknown, anything that the engine does not model.
    """
    n_layers = n_attentions(config)
    if isinstance(layer, bool) or not isinstance(layer, int) or not 0 <= layer < n_layers:
        raise CheckpointError("layer_range", layer=layer, last=n_layers - 1, n_layers=n_layers)
    family, config = family_of(config)
    _check_only(family, config)
    values = {name: value_of(config, sources) for name, sources in family.row["fields"].items()}
    try:
        values |= _window(family, config, layer) | _indexer(family, config, layer)
        values |= _rotation(family, config, values)
        return mechanisms.named(family.row["kind"]).config_type(**values)
    except CheckpointError:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:  # an entry of an odd kind
        raise CheckpointError("in_family", model_type=family.model_type, reason=error) from error


def _check_only(family: Family, config: Mapping[str, Any]) -> None:
    for key, neutral in family.row["only"].items():
        value = config.get(key)
        if value is not None and neutral != ANY and value not in neutral:
            wanted = either(*map(repr, neutral), Phrase("none"))
            raise CheckpointError(
                "not_modelled", key=key, value=value, model_type=family.model_type, wanted=wanted
            )


WINDOWS: Mapping[str, Callable[[Mapping[str, Any], int], bool]] = {
    "even": lambda config, layer: layer % 2 == 0,
    "late": lambda config, layer: (
        bool(config.get("use_sliding_window")) and layer >= value_of(config, ["max_window_layers"])
    ),
}
LAYER_TYPES = {"sliding_attention": True, "full_attention": False}


def _window(family: Family, config: Mapping[str, Any], layer: int) -> dict[str, int]:
    """The sliding window of this layer, if its family has such layers."""
    rule, types = family.row.get("window"), config.get("layer_types")
    if rule is None:
        return {}
    if types is None:
        slides = WINDOWS[rule](config, layer)
    elif isinstance(types, list) and len(types) > layer and types[layer] in LAYER_TYPES:
        slides = LAYER_TYPES[types[layer]]
    else:
        raise CheckpointError("layer_types", types=types, layer=layer, known=", ".join(LAYER_TYPES))
    return {"sliding_window": value_of(config, ["sliding_window"])} if slides else {}


INDEXER_TYPES = {"shared": True, "full": False}


def _indexer(family: Family, config: Mapping[str, Any], layer: int) -> dict[str, Any]:
    """How this layer's indexer pairs, and whether it takes the choice of an earlier layer."""
    if "index_pairing" not in family.row:
        return {}
    own = {"index_pairing": family.row["index_pairing"]}
    types = config.get("indexer_types") if family.row.get("shares_choice") else None
    if types is None:
        return own
    if isinstance(types, list) and len(types) > layer and types[layer] in INDEXER_TYPES:
        return own | {"index_shared": INDEXER_TYPES[types[layer]]}
    known = ", ".join(INDEXER_TYPES)
    raise CheckpointError("indexer_types", types=types, layer=layer, known=known)


def _rotation(
    family: Family, config: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields `rope` and, for Mistral 4, `position_limit`."""
    row = family.row
    if not row["rope"]:
        if entries := rope_entries(config):
            raise CheckpointError("no_rotation", entries=entries, model_type=family.model_type)
        return {"rope": None}
    extra, config = _without(config, row.get("rope_extra", ()))
    width = values["d_rope" if family.is_latent else "d_head"]
    whole = sum(value_of(config, [key]) for key in row.get("rotary_of", ())) or width
    checks.whole("width", whole, least=0)  # before anything is multiplied by it
    rope = rope_config(
        config,
        theta=row["theta"],
        interleaved=value_of(config, row["interleaved"]),
        latent=family.is_latent,
        widths=(width, whole),
    )
    if not extra.get("llama_4_scaling_beta"):
        return {"rope": rope}
    # from there on queries are multiplied by 1 + beta ln(1 + floor(position / limit))
    limit = rope_entries(config).get(CONTEXT) or value_of(config, ["max_position_embeddings"])
    return {"rope": rope, "position_limit": limit}


def _without(config: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[dict, dict[str, Any]]:
    """What the rotation's tables have under `keys`, and config.json without that."""
    taken, rest = {}, dict(config)
    for name in ("rope_scaling", "rope_parameters"):
        table = rest.get(name)
        if isinstance(table, dict):
            taken |= {key: table[key] for key in keys if key in table}
            rest[name] = {key: value for key, value in table.items() if key not in keys}
    return taken, rest
