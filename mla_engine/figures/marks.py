"""Marks on the cells of a map."""

import numpy as np

MARK = {
    "symbol": "circle",
    "color": "#FFFFFF",
    "size": 11,
    "line": {"color": "#14171C", "width": 2},
}


def marks(cells: np.ndarray, name: str) -> dict:
    """A dot on every cell of a map where `cells` [t,s] is True.

    Args:
        cells: bool [t,s] of a map of at most 256 cells a side.
        name: what a dot means, for the legend of screen readers and the hover text.
    """
    rows, columns = np.nonzero(cells)
    return {
        "type": "scatter",
        "x": columns,
        "y": rows,
        "mode": "markers",
        "name": name,
        "marker": MARK,
        "xaxis": "x2",
        "yaxis": "y2",
        "showlegend": False,
        "hovertemplate": f"{name}<extra></extra>",
    }
