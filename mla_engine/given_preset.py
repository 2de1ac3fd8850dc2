"""A model of the reader's own as a preset, and as a text that is short enough for a link.

The text is the configuration and nothing else of config.json: what differs from the defaults of the
engine's dataclasses, as JSON, deflated, in base64url. It may come from a stranger: its length and
what it unfolds to are bounded, and every value passes the checks of the configuration that has it.
"""

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from kvcount import checks
from kvcount.files.config_json import parse_json
from kvcount.parts import Model
from kvcount.refusals import RefusedError
from mla_engine import costs, mechanisms
from mla_engine.config import SCALINGS, AttentionConfig, RopeConfig
from mla_engine.presets import Preset

MARK = "own."
MOST_LETTERS, MOST_BYTES = 6000, 2**16
MOST_LAYERS, MOST_CACHES, MOST_CONTEXT, MOST_KINDS = 1024, 4096, 2**30, 4
WINDOWS = "alternating local and global layers"  # as well, of windows
GONE = "linear attention layers"  # what links once said of kinds that now stand beside
NAME = re.compile(r"(?!www\.)[A-Za-z0-9][A-Za-z0-9 .+_-]{0,59}")  # plain in prose and in figures


@dataclass(frozen=True, kw_only=True)
class GivenPreset(Preset):
    """One attention of a model that is not published here; `layer` is its number, from 0."""

    layer: int

    @cached_property
    def model(self) -> Model:
        """The cache of its layers, counted by their kinds."""
        kinds = self.kinds
        if WINDOWS in self.not_modelled:  # an old link: nobody says which layers have the window
            kinds = tuple((replace(one, sliding_window=None), n) for one, n in kinds)
        return costs.model(kinds)


def given_preset(
    config: AttentionConfig,
    *,
    name: str,
    layer: int = 0,
    n_layers: int = 1,
    n_caches: int = 1,
    beside: tuple[tuple[AttentionConfig, int], ...] = (),
    max_context: int | None = None,
    not_modelled: tuple[str, ...] = (),
) -> GivenPreset:
    """Return the preset of a configuration; its key is the text that `read_given` reads.

    Args:
        config: of any mechanism.
        name: letters that mean something to Markdown are left out, and what is over 60.
        layer: which attention of the model this is, from 0.
        n_layers: of the model.
        n_caches: the attentions that the configuration stands for.
        beside: the model's other kinds of attention, each with their number.
        max_context: tokens that the model is made for, None where it does not say.
        not_modelled: of presets.NOT_MODELLED.
    """
    told = {"n": plain(name), "i": layer, "l": n_layers, "c": n_caches, "g": list(not_modelled)}
    table = told | {"x": max_context} | _kind(config)
    if beside:
        table["b"] = [{"c": n} | _kind(other) for other, n in beside]
    text = json.dumps(table, separators=(",", ":")).encode()
    folded = base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")
    return read_given(MARK + folded)


def plain(name: str) -> str:
    """Return a name without what a page would read as a mark; "model" where nothing is left."""
    kept = re.sub(r"[^A-Za-z0-9 .+_-]+|^(www\.|[^A-Za-z0-9])+", "", name)[:60].rstrip()
    return kept if NAME.fullmatch(kept) else "model"


@lru_cache(maxsize=256)
def read_given(text: str) -> GivenPreset:
    """Return the preset that a text stands for.

    Raises:
        ValueError: a text that no preset has, or sizes that no layer can have.
    """
    table = _unfolded(text)
    try:
        return _preset(text, table)
    except (KeyError, TypeError, ArithmeticError) as error:
        raise RefusedError("given_text") from error


def _unfolded(text: str) -> Mapping[str, Any]:
    if not text.startswith(MARK) or len(text) > MOST_LETTERS:
        raise RefusedError("given_text")
    folded = text.removeprefix(MARK)
    try:
        data = base64.b64decode(folded + "=" * (-len(folded) % 4), b"-_", validate=True)
        unfolding = zlib.decompressobj()
        found = unfolding.decompress(data, MOST_BYTES)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise RefusedError("given_text") from error
    if not unfolding.eof or unfolding.unused_data:
        raise RefusedError("given_text")
    return parse_json(found, "the model in the link")


def _preset(text: str, table: Mapping[str, Any]) -> GivenPreset:
    checks.kind("name", name := table["n"], str)
    if not NAME.fullmatch(name):
        raise RefusedError("given_text")
    checks.whole("n_layers", table["l"], most=MOST_LAYERS)
    checks.whole("n_caches", table["c"], most=MOST_CACHES)
    checks.whole("layer", table["i"], least=0, most=MOST_CACHES)
    if table["x"] is not None:
        checks.whole("max_context", table["x"], most=MOST_CONTEXT)
    return GivenPreset(
        key=text,
        name=name,
        config=_config(table),
        n_layers=table["l"],
        n_caches=table["c"],
        beside=_beside(table.get("b", [])),
        max_context=table["x"],
        rms_norm_eps=None,
        parameters=None,
        source="config.json",
        notes_in=MappingProxyType({}),
        not_modelled=tuple(gap for gap in table["g"] if gap != GONE),
        layer=table["i"],
    )


def _beside(tables: Any) -> tuple[tuple[AttentionConfig, int], ...]:
    checks.kind("beside", tables, list)
    checks.whole("beside", len(tables), least=0, most=MOST_KINDS)
    for one in tables:
        checks.whole("n_caches", one["c"], most=MOST_CACHES)
    return tuple((_config(one), one["c"]) for one in tables)


def _config(table: Mapping[str, Any]) -> AttentionConfig:
    """Return the configuration that stands in a table under the name of its mechanism."""
    mechanism = next((one for one in mechanisms.all() if one.key in table), None)
    if mechanism is None:
        raise RefusedError("given_text")
    return _built(mechanism.config_type, table[mechanism.key])


def _kind(config: AttentionConfig) -> dict[str, Any]:
    return {mechanisms.of(config).key: _table(config)}


def _table(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults; nested ones as tables."""
    given = ((one, getattr(value, one.name)) for one in fields(value))
    return {
        one.name: _entry(found)
        for one, found in given
        if one.default is MISSING or found != one.default
    }


def _entry(found: Any) -> Any:
    if not is_dataclass(found):
        return found
    kind = next((name for name, one in SCALINGS.items() if type(found) is one), None)
    return {kind: _table(found)} if kind else _table(found)


def _built(kind: type, table: Mapping[str, Any]) -> Any:
    """Return the dataclass of a table; its own checks refuse what it cannot have."""
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in table.items()}
    if isinstance(values.get("rope"), dict):
        values["rope"] = _built(RopeConfig, values["rope"])
    if isinstance(values.get("scaling"), dict):
        ((name, inner),) = values["scaling"].items()
        values["scaling"] = _built(SCALINGS[name], inner)
    return kind(**values)
