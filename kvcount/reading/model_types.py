"""The table of model types, data/model_types.toml: how a type's config.json is read."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kvcount.tables import Rows

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


def run_rows() -> Iterator[Mapping[str, Any]]:
    """Yield the rows with modules, which an engine can run, all columns included."""
    yield from (row for row in _ROWS.values() if MODULES in row)
