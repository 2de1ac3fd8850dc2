"""Tables behind pictures, as the download buttons hand them out."""

from collections.abc import Iterable

import numpy as np
import pandas as pd


def named(values: np.ndarray, rows: Iterable, columns: Iterable) -> pd.DataFrame:
    """A matrix with the names of its rows and columns, which may be equal or empty."""
    table = pd.DataFrame(values, columns=list(map(str, columns)))
    table.insert(0, "", list(map(str, rows)), allow_duplicates=True)
    return table
