"""Hatching over masked cells: no colour, so that no shade of a scale can be taken for it."""

from itertools import groupby

import numpy as np

from mla_engine.figures.axes import Spans
from mla_engine.figures.theme import MASKED, TRANSPARENT

PATTERN = {"shape": "/", "fgcolor": MASKED, "bgcolor": TRANSPARENT, "size": 7, "solidity": 0.16}
SILENT = {"hoverinfo": "skip"}
Corner = tuple[float, float]


def hatching(
    hidden: np.ndarray,
    rows: Spans,
    columns: Spans,
    says: str = "",
    *,
    shape: str = PATTERN["shape"],
    **axes: str,
) -> dict:
    """Hatched areas over the cells [t,s] where `hidden` is True.

    Args:
        hidden: bool [t,s].
        rows: first and last index of each drawn row.
        columns: the same of the columns.
        says: of the areas on hover, if anything.
        shape: of the hatching.
        axes: of the trace, if not the first pair.
    """
    ys = np.array([rows[0][0], *(last + 1 for _, last in rows)]) - 0.5
    xs = np.array([columns[0][0], *(last + 1 for _, last in columns)]) - 0.5
    return areas(
        [[(xs[s], ys[t]) for s, t in outline] for outline in outlines(hidden)], says, **axes
    ) | {"fillpattern": PATTERN | {"shape": shape}}


def areas(outlines: list[list[Corner]], says: str = "", **axes: str) -> dict:
    """One trace for all areas, broken between them."""
    broken = (np.nan, np.nan)
    corners = [corner for outline in outlines for corner in (*outline, outline[0], broken)]
    x, y = np.array(corners[:-1], dtype=np.float32).T
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": TRANSPARENT,
        "fillpattern": PATTERN,
        "showlegend": False,
        **({"hoveron": "fills", "hoverinfo": "text", "text": says} if says else SILENT),
    } | axes


def outlines(hidden: np.ndarray) -> list[list[tuple[int, int]]]:
    """Outlines of the hidden cells as (column, row) edges.

    Rows with as many runs as the row above go on with its areas, so that a causal mask is one.
    """
    found = []
    runs = [_runs(row) for row in hidden]
    for count, group in groupby(range(len(runs)), key=lambda t: len(runs[t])):
        rows = list(group)
        for k in range(count):
            left = [(runs[t][k][0], edge) for t in rows for edge in (t, t + 1)]
            right = [(runs[t][k][1], edge) for t in reversed(rows) for edge in (t + 1, t)]
            found.append(left + right)
    return found


def _runs(row: np.ndarray) -> list[tuple[int, int]]:
    """Where hidden cells begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], row, [False])).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
