"""Marks on the cells of a map."""

import numpy as np
import plotly.graph_objects as go

MARK = {
    "symbol": "circle",
    "color": "#FFFFFF",
    "size": 11,
    "line": {"color": "#14171C", "width": 2},
}


def mark_cells(fig: go.Figure, cells: np.ndarray, name: str) -> go.Figure:
    """A dot on every cell of a map where `cells` [t,s] is True; returns `fig`.

    Args:
        fig: a map of at most 256 cells a side, as the builders of this package make it.
        cells: bool [t,s].
        name: what a dot means, for the legend of screen readers and the hover text.
    """
    rows, columns = np.nonzero(cells)
    fig.add_scatter(
        x=columns,
        y=rows,
        mode="markers",
        name=name,
        marker=MARK,
        xaxis="x2",
        yaxis="y2",
        showlegend=False,
        hovertemplate=f"{name}<extra></extra>",
    )
    return fig
