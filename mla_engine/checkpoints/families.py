"""The table of published models: which configuration of the engine equals their attention.

The table is kvcount's data/model_types.toml: a family is a row with modules, whose columns
data/modules.toml explains. What an entry of config.json means is written there, once a family; what
the engine cannot reproduce exactly is refused here, never approximated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kvcount import checks
from kvcount.files.config_json import checked, entry, text_of, value_of
from kvcount.files.errors import CheckpointError
from kvcount.reading.model_types import run_rows
from kvcount.refusals import Phrase, either
from kvcount.tables import read_table
from mla_engine import mechanisms
from mla_engine.checkpoints.layer_kinds import (
    indexer,
    is_linear,
    pooling,
    window,
    with_own_rotation,
    with_rotation_of_type,
)
from mla_engine.checkpoints.rotation import CONTEXT, ROPE_TABLES, rope_config, rope_entries
from mla_engine.config import AttentionConfig

MOST_LAYERS = 1024  # Llama-3.1-405B has 126


@dataclass(frozen=True)
class Family:
    """One row of the table.

    `spellings` are the types that it holds for, the first of which names it; `row` has the columns
    of its modules, those of their kind included.
    """

    spellings: tuple[str, ...]
    row: Mapping[str, Any]

    @property
    def model_type(self) -> str:
        """The name of the family."""
        return self.spellings[0]

    @property
    def is_latent(self) -> bool:
        """True of Multi-head Latent Attention, with an indexer or without."""
        return "d_latent_kv" in self.row["fields"]

    def at(self, config: Mapping[str, Any], layer: int) -> "Family":
        """Return the family as this attention has it: in a hybrid linear layers have a row.

        Raises:
            CheckpointError: a hybrid whose config.json does not say what the layer is.
        """
        linear = self.row.get("linear")
        return Family(self.spellings, linear) if linear and is_linear(config, layer) else self

    @property
    def live(self) -> "Family":
        """The family under the names that its modules have at work, where files have others."""
        tensors: dict[str, dict[str, Any]] = {}
        for name, cut in self.row["tensors"].items():
            same = tensors.setdefault(self.row["live"].get(name, name), cut | {"parts": {}})
            same["parts"] |= cut["parts"]
        path = self.row.get("live_attention", self.row["attention"])
        return Family(self.spellings, {**self.row, "tensors": tensors, "attention": path})

    def attention(self, layer: int) -> str:
        """Return the path of attention number `layer`, with a dot behind."""
        block, sublayer = divmod(layer, self.row["sublayers"])
        return self.row["attention"].format(layer=block, sublayer=sublayer)


TABLES = ("fields", "only", "tensors")
ADDED = ("fields", "only", "live")
OF_SOFTMAX = ("rope", "unrotated", "interleaved", "theta", "index_pairing", "window")
ANY = "any"  # instead of the values of a key that the engine models


def _load() -> dict[str, Family]:
    kinds: dict[str, dict[str, Any]] = {}
    for name, own in read_table("kvcount", "data", "modules.toml").items():
        kinds[name] = _over(kinds[own["extends"]], own, *TABLES) if "extends" in own else own
    families = (
        Family(tuple(row["types"]), MappingProxyType(_row(kinds, row["modules"])))
        for row in run_rows()
    )
    return {family.model_type: family for family in families}


def _row(kinds: Mapping[str, dict[str, Any]], own: dict[str, Any]) -> dict[str, Any]:
    """Return a family's row; its linear attention has what the family names for all layers."""
    linear, own = own.get("linear"), {key: own[key] for key in own if key != "linear"}
    row = _over(kinds[own["kind"]], own, *ADDED)
    if linear is None:
        return row
    shared = {key: own[key] for key in own if key not in (*TABLES, *OF_SOFTMAX, "kind", "live")}
    return row | {"linear": _row(kinds, shared | linear)}


def _over(row: dict[str, Any], own: dict[str, Any], *tables: str) -> dict[str, Any]:
    """Return a row with its own entries over another's; these tables key by key."""
    return row | own | {key: row.get(key, {}) | own.get(key, {}) for key in tables}


FAMILIES: Mapping[str, Family] = MappingProxyType(_load())
_SPELLED = {name: family for family in FAMILIES.values() for name in family.spellings}


def family_of(config: Mapping[str, Any]) -> tuple[Family, dict[str, Any]]:
    """Return the family, and the part of config.json that speaks of text.

    Raises:
        CheckpointError: a model_type that is not in the table.
    """
    for part in (text_of(config), config):
        name = part.get("model_type")
        if isinstance(name, str) and name in _SPELLED:
            return _SPELLED[name], dict(part)
    raise CheckpointError(
        "family",
        model_type=config.get("model_type"),
        architectures=config.get("architectures"),
        known=", ".join(FAMILIES),
    )


def family_at(config: Mapping[str, Any], layer: int) -> Family:
    """Return the family as attention `layer` has it; errors as `family_of` and `Family.at`."""
    family, config = family_of(config)
    return family.at(config, layer)


def n_attentions(config: Mapping[str, Any]) -> int:
    """Return the number of attentions: LongCat has two a layer.

    Raises:
        CheckpointError: an unknown family, or no number of layers.
    """
    family, config = family_of(config)
    name = family.row["layers"]
    layers = checked(checks.whole, name, value_of(config, [name]), most=MOST_LAYERS)
    return layers * family.row["sublayers"]


def attention_config(config: Mapping[str, Any], layer: int) -> AttentionConfig:
    """Return the engine's configuration of attention number `layer`, from 0.

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
    family = family.at(config, layer)
    _check_only(family, config)
    values = {name: value_of(config, sources) for name, sources in family.row["fields"].items()}
    try:
        values |= window(family.row, config, layer) | indexer(family.row, config, layer)
        if family.row.get("pools"):
            values |= pooling(config, layer)
            config = with_own_rotation(config, layer)
        if "rope_by_type" in family.row:
            config = with_rotation_of_type(family.row, config, "sliding_window" in values)
        values |= _rotation(family, config, values)
        return mechanisms.named(family.row["kind"]).config_type(**values)
    except CheckpointError:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:  # an entry of an odd kind
        raise CheckpointError("in_family", model_type=family.model_type, reason=error) from error


def _check_only(family: Family, config: Mapping[str, Any]) -> None:
    for key, neutral in family.row["only"].items():
        value = entry(config, key)
        if value is not None and neutral != ANY and value not in neutral:
            wanted = either(*map(repr, neutral), Phrase("none"))
            raise CheckpointError(
                "not_modelled", key=key, value=value, model_type=family.model_type, wanted=wanted
            )


def _rotation(
    family: Family, config: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields `rope`, `d_rotated` of a part of heads, `position_limit` of Mistral 4."""
    row = family.row
    if "rope" not in row:
        return {}
    if not row["rope"]:
        if row.get("unrotated"):
            return {"rope": None}
        if entries := rope_entries(config):
            raise CheckpointError("no_rotation", entries=entries, model_type=family.model_type)
        return {"rope": None}
    extra, config = _without(config, row.get("rope_extra", ()))
    if "rope_else" in row and not any(config.get(name) for name in ROPE_TABLES):
        config["rope_parameters"] = row["rope_else"]
    width = values.get("d_rope", values.get("d_head"))
    whole = sum(value_of(config, [key]) for key in row.get("rotary_of", ())) or width
    checks.whole("width", whole, least=0)  # before anything is multiplied by it
    part = {}
    if "rotary_part" in row:
        share = value_of(config, row["rotary_part"])
        checks.positive("partial_rotary_factor", share)
        width = int(share * whole)
        part = {"d_rotated": width} if width != whole else {}
    rope = rope_config(
        config,
        theta=row["theta"],
        interleaved=value_of(config, row["interleaved"]),
        latent=family.is_latent,
        widths=(width, whole),
    )
    if not extra.get("llama_4_scaling_beta"):
        return {"rope": rope} | part
    # from there on queries are multiplied by 1 + beta ln(1 + floor(position / limit))
    limit = rope_entries(config).get(CONTEXT) or value_of(config, ["max_position_embeddings"])
    return {"rope": rope, "position_limit": limit}


def _without(config: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[dict, dict[str, Any]]:
    """Return what the rotation's tables have under `keys`, and config.json without that."""
    taken, rest = {}, dict(config)
    for name in ROPE_TABLES:
        table = rest.get(name)
        if isinstance(table, dict):
            taken |= {key: table[key] for key in keys if key in table}
            rest[name] = {key: value for key, value in table.items() if key not in keys}
    return taken, rest
