"""Published models by key: their rows of data/models.toml, read as a cache."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from kvcount.parts import Layer, Model
from kvcount.reading import attention, latents, weighing
from kvcount.reading.keys import Keys
from kvcount.reading.read import read
from kvcount.tables import Rows

ACTIVE = re.compile(r"-A(\d+(?:\.\d+)?)B\b")
SIZES = {  # key of a config.json -> the engine's name of this size
    "hidden_size": "d_model",
    "num_attention_heads": "n_heads",
    "num_key_value_heads": "n_kv_heads",
    "head_dim": "d_head",
    "qk_nope_head_dim": "d_head",
    "v_head_dim": "d_value",
    "kv_lora_rank": "d_latent_kv",
    "qk_rope_head_dim": "d_rope",
    "q_lora_rank": "d_latent_q",
    "index_topk": "index_topk",
    "index_head_dim": "d_index",
    "index_n_heads": "n_index_heads",
    "sliding_window": "sliding_window",
}


@dataclass(frozen=True, kw_only=True)
class Published:
    """A row of models.toml.

    Args:
        key: by which it is chosen; name, repository, source and notes as in the row.
        parameters: of its language model, None where nobody says.
        rounded: whether that and `active` are what a name or a text says, and not a count.
        active: of them, those that a token is multiplied with, None where all are.
        routed: of them, those of experts that layers choose among; None where nobody counted.
        mixture: whether it has experts, of which a token uses some; None where nobody says.
        storage: part -> type, where its publisher stores it otherwise than in bf16.
        row: all of it.
    """

    key: str
    name: str
    repository: str | None
    parameters: int | None
    rounded: bool
    active: int | None
    routed: int | None
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
            found = read(self.config)
            most = self.row.get("max_context", found.max_context)
            said = {"max_context": most, "mixture": self.mixture, "experts": self._experts}
            return replace(found, **said, **self._weighed(len(found.layers), found))
        keys = Keys({"model_type": None} | self.config, defaults={"qk_rope_head_dim": 0})
        layer, n_caches = _layer(keys), self.row.get("n_caches", self.row["n_layers"])
        each = weighing.attention_parameters(keys, layer)
        return Model(
            model_type=None,
            layers=(layer,) * n_caches,
            mtp=(layer,) * self.row.get("mtp", 0),
            max_context=self.row.get("max_context"),
            as_mha=attention.as_mha(keys),
            n_heads=keys.whole("num_attention_heads"),
            n_index_heads=latents.index_heads(keys),
            mixture=self.mixture,
            experts=self._experts,
            attention=(each,) * n_caches,
            caches_each=n_caches // self.row["n_layers"],
            **self._weighed(n_caches),
        )

    def _weighed(self, n_layers: int, read: Model | None = None) -> dict[str, Any]:
        """Its row's facts on weights beyond its config.json: tables, and which layers are dense.

        A head is as large as the embedding, which tables are where no embedding is the head itself.
        """
        tied = "embedding" in self.row
        table = self.row.get("embedding", self.row.get("tables", 0))
        dense = self.row.get("dense_layers", 0)
        read_from = read is not None and not dense
        chosen = read.expert_layers if read_from else tuple(range(dense, n_layers))
        return {"table": table, "tied": tied, "expert_layers": chosen}

    @property
    def repositories(self) -> tuple[str, ...]:
        """Its own, and those of models with the same config.json."""
        own = (self.repository,) if self.repository else ()
        return (*own, *self.row.get("also", ()))

    @property
    def _experts(self) -> tuple[int, int] | None:
        return tuple(self.row["experts"]) if "experts" in self.row else None

    @property
    def config(self) -> Mapping[str, Any]:
        """Its config.json, or what one would say of the layer that the engine runs; a copy."""
        if "config" in self.row:
            return deepcopy(self.row["config"]) | dict.fromkeys(self.row.get("nulls", ()))
        sizes = self.row.get("grouped") or self.row.get("latent") or self.row["indexed"]
        return in_config({"n_kv_heads": sizes["n_heads"]} | sizes | self.row.get("options", {}))


def in_config(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engine's sizes of a layer by the keys of a config.json."""
    return {key: sizes[name] for key, name in SIZES.items() if sizes.get(name)}


def _layer(keys: Keys) -> Layer:
    """Return the layer of a row that the engine runs."""
    if keys.get("index_head_dim"):
        return latents.indexed(keys, 0)
    if keys.get("kv_lora_rank"):
        return latents.latent(keys, 0)
    return (attention.windowed if keys.get("sliding_window") else attention.grouped)(keys, 0)


def _published(key: str, row: Mapping[str, Any]) -> Published:
    rounded, routed = row.get("rounded", False), row.get("routed")
    counted = "parameters" in row and not rounded
    active = _counted(row) if counted else row.get("active_parameters", _active(row["name"]))
    mixture = bool(routed) if counted else row.get("mixture", active is not None or None)
    return Published(
        key=key,
        name=row["name"],
        repository=row.get("repository"),
        parameters=row.get("parameters"),
        rounded=rounded,
        active=active,
        routed=routed,
        mixture=mixture,
        source=row["source"],
        notes=row.get("notes", {}),
        storage=row.get("storage", {}),
        row=row,
    )


def _counted(row: Mapping[str, Any]) -> int | None:
    """Return parameters - tables - routed (1 - used / all); None where that is all of them."""
    used, of = row.get("experts", (1, 1))
    idle = Fraction(row.get("routed", 0) * (of - used), of) + row.get("tables", 0)
    return row["parameters"] - int(idle) if idle else None


def _active(name: str) -> int | None:
    """Return the active parameters that a name such as Qwen3-235B-A22B says."""
    found = ACTIVE.search(name)
    return int(Fraction(found[1]) * 10**9) if found else None


MODELS_FILE = "kvcount/data/models.toml"


class _Models(Mapping[str, Published]):
    """Published models by key, each read when it is first asked for."""

    def __init__(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        self._rows, self._read = rows, dict[str, Published]()

    def __getitem__(self, key: str) -> Published:
        if key not in self._read:
            self._read.setdefault(key, _published(key, self._rows[key]))
        return self._read[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


MODELS: Mapping[str, Published] = _Models(Rows("kvcount", "data", "models.toml"))
"""Every published model, in the order of the file."""


def named(text: str) -> Published | None:
    """Return the published model of this key or repository, its owner may be left out."""
    key = text.strip().lower()
    if key in MODELS:
        return MODELS[key]
    names = {name.lower(): one for one in MODELS.values() for name in one.repositories}
    without_owner = {name.partition("/")[2]: one for name, one in names.items()}
    return names.get(key) or without_owner.get(key)
