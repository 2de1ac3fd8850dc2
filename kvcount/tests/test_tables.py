"""Tables whose rows are parsed one by one are those of the whole file."""

from kvcount.models import MODELS
from kvcount.reading.model_types import MODEL_TYPES
from kvcount.tables import Rows, read_table

OF_MODELS = "kvcount", "data", "models.toml"
OF_TYPES = "kvcount", "data", "model_types.toml"


def test_rows_one_by_one_are_those_of_the_whole_file():
    rows, whole = Rows(*OF_MODELS), read_table(*OF_MODELS)
    assert list(rows) == list(whole) == list(MODELS)
    assert len(rows) == len(whole) > 100
    assert dict(rows) == whole
    assert all(MODELS[key].row == row for key, row in whole.items())


def test_the_row_of_each_model_type_is_found_without_parsing_any():
    rows, whole = Rows(*OF_TYPES), read_table(*OF_TYPES)
    assert dict(rows) == whole
    row_of = {one: key for key, row in whole.items() for one in row["types"]}
    assert rows.by("types") == row_of
    assert len(row_of) == sum(len(row["types"]) for row in whole.values()) == len(MODEL_TYPES)
