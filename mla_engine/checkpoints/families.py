"""The table of published models: which configuration of the engine equals their attention.

The table is kvcount's data/model_types.toml: a family is a row with modules, whose columns
data/modules.toml explains. What an entry of config.json means is written there, once a family; what
the engine cannot reproduce exactly is refused here, never approximated.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kvcount import checks
from kvcount.files.config_json import entry
from kvcount.files.errors import CheckpointError
from kvcount.reading import latents, per_layer, pooled, schedule
from kvcount.reading.keys import Keys, UncountedError
from kvcount.reading.model_types import run_rows, text_of
from kvcount.refusals import Phrase, either
from kvcount.tables import read_table
from mla_engine import mechanisms
from mla_engine.checkpoints.rotation import CONTEXT, ROPE_TABLES, rope_config, rope_entries
from mla_engine.checkpoints.rotation_of_kind import with_rotation_of_kind
from mla_engine.checkpoints.sources import value_of
from mla_engine.config import AttentionConfig

MOST_LAYERS = 1024  # Llama-3.1-405B has 126


@dataclass(frozen=True)
class Family:
    """One row of the table.

    `reading` has its columns for the counter, which say how its layers are told apart, and `row`
    those of its modules, with those of their kind.
    """

    reading: Mapping[str, Any]
    row: Mapping[str, Any]

    @property
    def spellings(self) -> tuple[str, ...]:
        """The types that it holds for."""
        return tuple(self.reading["types"])

    @property
    def model_type(self) -> str:
        """The first of them, which names it."""
        return self.spellings[0]

    @property
    def is_latent(self) -> bool:
        """True of Multi-head Latent Attention, with an indexer or without."""
        return "d_latent_kv" in self.row["fields"]

    def keys(self, config: Mapping[str, Any]) -> Keys:
        """Return the keys of a config.json by the names that the counter gives them."""
        return Keys(config, self.reading.get("names"))

    def of_kind(self, kind: str) -> "Family":
        """Return the family as layers of a kind have it: linear ones of a hybrid have others.

        Raises:
            CheckpointError: a kind of which it has no modules.
        """
        for row in (self.row, self.row.get("linear", self.row)):
            if kind in row["layers"]:
                return Family(self.reading, row)
        raise CheckpointError("no_modules", kind=kind, model_type=self.model_type)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Turn an error over an entry of config.json into a CheckpointError that names the type."""
        try:
            yield
        except CheckpointError:
            raise
        except (ValueError, TypeError, ArithmeticError) as error:  # an entry of an odd kind
            if isinstance(error, UncountedError) and error.code == "no_key":
                raise CheckpointError("no_key", keys=error.values["key"]) from error
            raise CheckpointError("in_family", model_type=self.model_type, reason=error) from error

    @property
    def live(self) -> "Family":
        """The family under the names that its modules have at work, where files have others."""
        tensors: dict[str, dict[str, Any]] = {}
        for name, cut in self.row["tensors"].items():
            same = tensors.setdefault(self.row["live"].get(name, name), cut | {"parts": {}})
            same["parts"] |= cut["parts"]
        path = self.row.get("live_attention", self.row["attention"])
        return Family(self.reading, {**self.row, "tensors": tensors, "attention": path})

    def attention(self, layer: int) -> str:
        """Return the path of attention number `layer`, with a dot behind."""
        block, sublayer = divmod(layer, self.row["sublayers"])
        return self.row["attention"].format(layer=block, sublayer=sublayer)


TABLES = ("fields", "only", "tensors")
ADDED = ("fields", "only", "live")
OF_SOFTMAX = ("rope", "unrotated", "interleaved", "theta", "index_pairing")
ANY = "any"  # instead of the values of a key that the engine models


def _load() -> dict[str, Family]:
    kinds: dict[str, dict[str, Any]] = {}
    for name, own in read_table("kvcount", "data", "modules.toml").items():
        kinds[name] = _over(kinds[own["extends"]], own, *TABLES) if "extends" in own else own
    families = (Family(row, MappingProxyType(_row(kinds, row["modules"]))) for row in run_rows())
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
    """Return the family, and the part of config.json that speaks of text, with what it leaves out.

    Raises:
        CheckpointError: a model_type that is not in the table.
    """
    found = text_of(config)
    name = found.get("model_type")
    if isinstance(name, str) and name in _SPELLED:
        return _SPELLED[name], dict(found)
    raise CheckpointError(
        "family",
        model_type=config.get("model_type"),
        architectures=config.get("architectures"),
        known=", ".join(FAMILIES),
    )


def attention_config(config: Mapping[str, Any], layer: int) -> AttentionConfig:
    """Return the engine's configuration of attention number `layer`, from 0.

    Args:
        config: the parsed config.json, as transformers writes it or as repositories publish it.
        layer: counts attentions.

    Raises:
        CheckpointError: an unknown family, a layer out of range, a missing key, a rotation that is
            unknown, anything that the engine does not model.
    """
    return Attentions(config).config(layer)


class Attentions:
    """The attentions of a model by their numbers, from a config.json that is read once.

    Raises:
        CheckpointError: an unknown family, or a config.json that does not say what its layers are.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._family, self._config = family_of(config)
        keys = self._family.keys(self._config)
        with self._family.refusing():
            keys.whole("num_hidden_layers", most=MOST_LAYERS)
            for name in self._family.reading.get("needs", ()):
                keys.need(name)
            self._kinds = schedule.kinds(keys, self._family.reading)
            self._own = per_layer.told(keys)

    def __len__(self) -> int:
        return len(self._kinds) * self._family.row["sublayers"]

    def family(self, number: int) -> Family:
        """Return the family as an attention has it; CheckpointError if it has no modules for it."""
        kind, _ = self._layer(number)
        return self._family.of_kind(kind)

    def config(self, number: int) -> AttentionConfig:
        """Return the configuration of an attention; errors as `attention_config`."""
        kind, config = self._layer(number)
        family = self._family.of_kind(kind)
        row, keys = family.row, family.keys(config)
        _check_only(family, config)
        fields = row["fields"] | row["layers"][kind]
        with family.refusing():
            values = {name: value_of(keys, sources) for name, sources in fields.items()}
            if kind in pooled.RATES:
                values["pooling"] = pooled.entry_tokens(keys, kind)
            if "index_pairing" in row:
                chooses = latents.chooses(keys, number // row["sublayers"])
                values |= {"index_pairing": row["index_pairing"], "index_shared": not chooses}
            values |= _rotation(family, with_rotation_of_kind(row, config, kind), values)
            return mechanisms.named(row["kind"]).config_type(**values)

    def _layer(self, number: int) -> tuple[str, dict[str, Any]]:
        """Return the kind of the layer of an attention, and config.json as this layer has it."""
        n = len(self)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < n:
            raise CheckpointError("layer_range", layer=number, last=n - 1, n_layers=n)
        block = number // self._family.row["sublayers"]
        with self._family.refusing():
            kind, own = self._kinds[block], self._own.get(block, {})
            kind, own = per_layer.unskipped(kind, block, own)
        return kind, {**self._config, **own}


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
    keys = family.keys(config)
    whole = sum(value_of(keys, [key]) for key in row.get("rotary_of", ())) or width
    checks.whole("width", whole, least=0)  # before anything is multiplied by it
    part = {}
    if "rotary_part" in row:
        share = value_of(keys, row["rotary_part"])
        checks.positive("partial_rotary_factor", share)
        width = int(share * whole)
        part = {"d_rotated": width} if width != whole else {}
    rope = rope_config(
        config,
        theta=row["theta"],
        interleaved=value_of(keys, row["interleaved"]),
        latent=family.is_latent,
        widths=(width, whole),
    )
    if not extra.get("llama_4_scaling_beta"):
        return {"rope": rope} | part
    # from there on queries are multiplied by 1 + beta ln(1 + floor(position / limit))
    limit = rope_entries(config).get(CONTEXT) or value_of(keys, ["max_position_embeddings"])
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
