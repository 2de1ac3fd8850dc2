"""Published models: the sizes of one attention layer, with their source and what is uncertain.

The rows are in kvcount/data/models.toml and, of a mechanism that brings its own, beside it. A
preset's `config` holds what the engine computes, `model` what is kept; `not_modelled` names what
the model does beside the former. Rows that have no layer of the engine, only the keys of their
config.json, are in `kvcount.MODELS` alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any

from kvcount import checks
from kvcount.models import MODELS, MODELS_FILE
from kvcount.parts import Model
from kvcount.refusals import RefusedError
from mla_engine import mechanisms
from mla_engine.config import SCALINGS, AttentionConfig, RopeConfig, Scaling
from mla_engine.costs import sizes

NOT_MODELLED = (
    "alternating local and global layers",
    "attention sinks",
    "learned positions",
    "no output bias",
    "query scale by position",
)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One published model.

    `n_caches` counts the attentions that `config` stands for: two a layer in LongCat-Flash, the MLA
    layers alone of a hybrid. `beside` has the model's other attentions, each kind with their
    number: DeepSeek-V4's HCA beside its CSA, the linear attention of a hybrid. `max_context` is in
    tokens. `config.norm_eps` is 1e-6 for the latents' norms, as transformers has it in every MLA
    family; `rms_norm_eps` is the model's own figure, which vLLM uses there too. `parameters` is the
    count of all weights, or, where it is `rounded`, what its name or report gives, None where
    neither does. `notes` say what is uncertain; `notes_in` has them by language, `notes` in
    English.
    """

    key: str
    name: str
    config: AttentionConfig
    n_layers: int
    n_caches: int
    beside: tuple[tuple[AttentionConfig, int], ...] = ()
    max_context: int | None
    rms_norm_eps: float | None
    parameters: int | None
    rounded: bool = False
    source: str
    notes_in: Mapping[str, str]
    not_modelled: tuple[str, ...]

    def __post_init__(self) -> None:
        for gap in self.not_modelled:
            checks.choice("not_modelled", gap, NOT_MODELLED)

    @property
    def notes(self) -> str:
        """The uncertain or particular points of the model, in English."""
        return self.notes_in.get("en", "")

    @property
    def kinds(self) -> tuple[tuple[AttentionConfig, int], ...]:
        """Every kind of attention that the model has, and how many of it keep a cache."""
        return (self.config, self.n_caches), *self.beside

    @cached_property
    def model(self) -> Model:
        """The cache of its layers, by its config.json; for a mechanism's own by their kinds."""
        known = MODELS.get(self.key)
        return known.model() if known else sizes.model(self.kinds)

    @property
    def n_attentions(self) -> int:
        """The number of attentions of any kind that keep a cache."""
        return sum(n for _, n in self.kinds)

    def beside_of(self, kind: str) -> AttentionConfig | None:
        """Return its other attention of this kind, such as "HCA"; None for the first kind."""
        if kind == self.kind:
            return None
        found = (one for one, _ in self.beside if mechanisms.of(one).kind(one) == kind)
        return next(found, None)

    @property
    def kind(self) -> str:
        """The kind of its attention: "MLA", "MHA", ..."""
        return mechanisms.of(self.config).kind(self.config)


def _scaling(row: dict[str, Any]) -> Scaling | None:
    name = next((name for name in SCALINGS if name in row), None)
    if name is None:
        return None
    given = dict(row[name])
    if factors := given.pop("factors", None):  # of LongRoPE: the same in both sets
        given |= {"short_factor": tuple(factors), "long_factor": tuple(factors)}
    return SCALINGS[name](**given)


def _config(row: dict[str, Any]) -> AttentionConfig:
    """Return the configuration of a row, whose table of sizes is named after its mechanism."""
    rope = RopeConfig(**row["rope"], scaling=_scaling(row)) if "rope" in row else None
    mechanism = next(one for one in mechanisms.all() if one.key in row)
    return mechanism.of_preset({"rope": rope} | row[mechanism.key] | row.get("options", {}))


ROTATION = ("rope", *SCALINGS)


def _beside(row: dict[str, Any], own: dict[str, Any]) -> tuple[AttentionConfig, int]:
    """Return another kind of layer and its number; it has the first's rotation unless its own."""
    shared = {} if "rope" in own else {name: row[name] for name in ROTATION if name in row}
    return _config(shared | own), own["n_layers"]


def _preset(key: str, row: dict[str, Any]) -> Preset:
    return Preset(
        key=key,
        name=row["name"],
        config=_config(row),
        n_layers=row["n_layers"],
        n_caches=row.get("n_caches", row["n_layers"]),
        beside=tuple(_beside(row, own) for own in row.get("beside", ())),
        max_context=row.get("max_context"),
        rms_norm_eps=row.get("rms_norm_eps"),
        parameters=row.get("parameters"),
        rounded=row.get("rounded", False),
        source=row["source"],
        notes_in=MappingProxyType(row.get("notes", {})),
        not_modelled=tuple(row.get("not_modelled", ())),
    )


def _load() -> dict[str, Preset]:
    presets = {}
    published = ((MODELS_FILE, key, one.row) for key, one in MODELS.items())
    for file, key, row in chain(published, mechanisms.rows("presets.toml")):
        if key in presets:
            raise RefusedError("preset_twice", file=file, key=key)
        if not any(one.key in row for one in mechanisms.all()):
            if "config" in row:
                continue  # kvcount alone reads it
            keys = ", ".join(one.key for one in mechanisms.all())
            raise RefusedError("preset_sizes", file=file, key=key, known=keys)
        presets[key] = _preset(key, row)
    return presets


PRESETS = MappingProxyType(_load())
