"""Tables whose rows are parsed one by one are those of the whole file."""

from kvcount.models import MODELS
from kvcount.tables import Rows, read_table

OF_MODELS = "kvcount", "data", "models.toml"


def test_rows_one_by_one_are_those_of_the_whole_file():
    rows, whole = Rows(*OF_MODELS), read_table(*OF_MODELS)
    assert list(rows) == list(whole) == list(MODELS)
    assert len(rows) == len(whole) > 100
    assert dict(rows) == whole
    assert all(MODELS[key].row == row for key, row in whole.items())
