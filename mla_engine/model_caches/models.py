"""Published models by key: their rows of data/presets.toml, read as a cache."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from mla_engine.model_caches import weighing
from mla_engine.model_caches.attention import pair
from mla_engine.model_caches.parts import Layer, Model, Part
from mla_engine.model_caches.read import read

ACTIVE = re.compile(r"-A(\d+(?:\.\d+)?)B\b")


@dataclass(frozen=True, kw_only=True)
class Published:
    """A row of presets.toml.

    Args:
        key: by which it is chosen; name, repository, source and notes as in the row.
        parameters: of the whole model, None where its name gives none.
        active: of them, those that a token is multiplied with, None where all are.
        mixture: whether it has experts, of which a token uses some; None where nobody says.
        storage: part -> type, where its publisher stores it otherwise than in bf16.
        row: all of it.
    """

    key: str
    name: str
    repository: str | None
    parameters: int | None
    active: int | None
    mixture: bool | None
    source: str
    notes: Mapping[str, str]
    storage: Mapping[str, str]
    row: Mapping[str, Any]

    def model(self) -> Model:
        """Return what its layers keep; the row is read once.

        Raises:
            RefusedError: a row whose config is not understood.
        """
        return self._model

    @cached_property
    def _model(self) -> Model:
        if "config" in self.row:
            found = read(self.row["config"])
            most = self.row.get("max_context", found.max_context)
            return replace(found, max_context=most, mixture=self.mixture)
        n_caches = self.row.get("n_caches", self.row["n_layers"])
        layers = (_layer(self.row),) * n_caches
        most = self.row.get("max_context")
        known = {"model_type": None, "max_context": most, "mixture": self.mixture}
        known["attention_parameters"] = n_caches * weighing.of_layer(layers[0], _sizes(self.row))
        return Model(layers=layers, **known, **_of_heads(self.row))


def _sizes(row: Mapping[str, Any]) -> weighing.Sizes:
    """The widths of such a layer."""
    given = row.get("grouped") or row.get("latent") or row["indexed"]
    names = {field.name for field in fields(weighing.Sizes)}
    return weighing.Sizes(**{name: size for name, size in given.items() if name in names})


def _of_heads(row: Mapping[str, Any]) -> dict[str, int]:
    """Query heads of such a layer, and the numbers of a key and a value for each of them."""
    sizes = row.get("grouped") or row.get("latent") or row["indexed"]
    n_heads, d_key = sizes["n_heads"], sizes["d_head"]
    return {
        "as_mha": n_heads * (d_key + sizes.get("d_value", d_key)),
        "n_heads": n_heads,
        "n_index_heads": sizes.get("n_index_heads", 0),
    }


def _layer(row: Mapping[str, Any]) -> Layer:
    """The layer of a row that the engine runs."""
    if "grouped" in row:
        return _grouped(row["grouped"], row.get("options", {}).get("sliding_window"))
    sizes = row.get("indexed") or row["latent"]
    most = {"read_rows": sizes.get("index_topk")}
    parts = [Part(name="latent", numbers=sizes["d_latent_kv"], **most)]
    if sizes.get("d_rope"):
        parts.append(Part(name="rope", numbers=sizes["d_rope"], **most))
    if "d_index" in sizes:
        return Layer("indexed", (*parts, Part(name="index", numbers=sizes["d_index"])))
    return Layer("latent", tuple(parts))


def _grouped(sizes: Mapping[str, Any], window: int | None) -> Layer:
    n_kv_heads, d_key = sizes["n_kv_heads"], sizes["d_head"]
    d_value = sizes.get("d_value", d_key)
    if window:
        return Layer("window", pair(n_kv_heads, d_key, d_value, growth="window", length=window))
    kind = "mha" if n_kv_heads == sizes["n_heads"] else "mqa" if n_kv_heads == 1 else "gqa"
    return Layer(kind, pair(n_kv_heads, d_key, d_value))


@cache
def models() -> Mapping[str, Published]:
    """Every published model, in the order of the file."""
    text = (files("mla_engine") / "data" / "presets.toml").read_text("utf-8")
    rows = tomllib.loads(text)
    return MappingProxyType({key: _published(key, row) for key, row in rows.items()})


def _published(key: str, row: Mapping[str, Any]) -> Published:
    active = row.get("active_parameters", _active(row["name"]))
    return Published(
        key=key,
        name=row["name"],
        repository=row.get("repository"),
        parameters=row.get("parameters"),
        active=active,
        mixture=row.get("mixture", None if active is None else True),
        source=row["source"],
        notes=row.get("notes", {}),
        storage=row.get("storage", {}),
        row=row,
    )


def _active(name: str) -> int | None:
    """Return the active parameters that a name such as Qwen3-235B-A22B says."""
    found = ACTIVE.search(name)
    return int(Fraction(found[1]) * 10**9) if found else None


def named(text: str) -> Published | None:
    """The published model of this key, or of this repository."""
    found = models().get(text.lower())
    by_repository = (one for one in models().values() if one.repository == text)
    return found or next(by_repository, None)
