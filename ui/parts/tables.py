"""Tables behind pictures, as the download buttons hand them out."""

from collections.abc import Iterable

import numpy as np

from mla_engine.lazy import LazyModule

pd = LazyModule("pandas")


def named(values: np.ndarray, rows: Iterable, columns: Iterable) -> "pd.DataFrame":
    """A matrix with the names of its rows and columns; masked cells are empty."""
    cells = (
        [f"{value:.9g}" if np.isfinite(value) else "" for value in row.tolist()] for row in values
    )
    table = [[name, *row] for name, row in zip(rows, cells, strict=True)]
    return pd.DataFrame(table, columns=["", *columns])
