"""The table of model types, data/model_types.toml: how a type's config.json is read.

What a file leaves out and its type says is filled in here, for all who read it.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kvcount.tables import Rows

TEXT = ("text_config", "llm_config", "language_config", "thinker_config")  # of language models
MODULES = "modules"  # the part of a row that only an engine needs
_ROWS = Rows("kvcount", "data", "model_types.toml")
_ROW_OF = _ROWS.by("types")
MODEL_TYPES = tuple(_ROW_OF)


def row_of(model_type: str) -> Mapping[str, Any] | None:
    """Return the row of a type, without its modules; None for an unknown type."""
    name = _ROW_OF.get(model_type)
    return None if name is None else _row(name)


@cache
def _row(name: str) -> Mapping[str, Any]:
    return {column: value for column, value in _ROWS[name].items() if column != MODULES}


def text_of(config: Mapping[str, Any], *, inside: bool = False) -> Mapping[str, Any]:
    """Return the part that describes the language model, the innermost; all of a plain one.

    Where it does not say its model_type it has that of the whole. What it leaves out is as its row
    has it; `inside` says that it stands in the config.json of a larger model.
    """
    inner = next((config[key] for key in TEXT if isinstance(config.get(key), Mapping)), None)
    if inner is not None:
        model_type = inner.get("model_type") or config.get("model_type")
        return text_of({**inner, "model_type": model_type}, inside=True)
    row = row_of(str(config.get("model_type")))
    return config if row is None else _filled(config, row, inside)


def _filled(config: Mapping[str, Any], row: Mapping[str, Any], inside: bool) -> Mapping[str, Any]:
    left_out = row.get("defaults_inside", {}) if inside else {}
    filled = {**row.get("defaults", {}), **left_out, **config}
    for name, other in row.get("defaults_of", {}).items():
        own = row.get("names", {}).get(name, name)
        if filled.get(own) is None and filled.get(name) is None and other in filled:
            filled[own] = filled[other]
    lists = (filled.get(name) for name in row.get("counted_by", ()))
    listed = next((one for one in lists if isinstance(one, list | str)), None)
    if listed is not None and filled.get("num_hidden_layers") is None:
        filled["num_hidden_layers"] = len(listed)
    return filled


def run_rows() -> Iterator[Mapping[str, Any]]:
    """Yield the rows with modules, which an engine can run, all columns included."""
    yield from (row for row in _ROWS.values() if MODULES in row)
