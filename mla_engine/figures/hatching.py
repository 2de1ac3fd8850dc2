"""Hatching over hidden cells of a map: no colour, so that no shade can be taken for it."""

from collections.abc import Mapping
from itertools import groupby

import numpy as np

from mla_engine.figures.axes import Spans
from mla_engine.figures.cells import pool
from mla_engine.figures.theme import CLEAR, MASKED, TRANSPARENT

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
    """Return hatched areas over the cells [t,s] where `hidden` is True.

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
    """Return one trace for all areas, broken between them."""
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
    """Return the outlines of the hidden cells as (column, row) edges.

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
    """Return where each run of hidden cells begins and where the next cell is seen."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], row, [False])).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


MAX_NAMED = 64**2  # masked cells that say so each; of more the whole area does
MASKED_BY, LEFT_OUT = "/", "."  # patterns
PLACE = {"xaxis": "x2", "yaxis": "y2"}
LAYER = {"type": "heatmap", "hoverongaps": False} | PLACE

Kind = tuple[str, np.ndarray, str]  # what is said of hidden cells, which they are [t,s], a pattern


def hidden_cells(
    drawn: np.ndarray, left_out: Mapping[str, np.ndarray], masked: str, spans: tuple[Spans, Spans]
) -> list[Kind]:
    """Return the kinds of hidden cells of a map.

    Args:
        drawn: what is drawn [t,s], NaN where a cell is hidden.
        left_out: what is said of cells that are not masked -> bool, of all cells.
        masked: what is said of the others.
        spans: first and last index of each drawn row, and of each column.
    """
    rest, found = np.isnan(drawn), []
    for says, cells in left_out.items():
        those = rest & (pool(cells.astype(np.float32), *spans) > 0)
        found.append((says, those, LEFT_OUT))
        rest = rest & ~those
    kinds = [(masked, rest, MASKED_BY), *found]
    return [kind for kind in kinds if kind[1].any()]


def covered(
    says: str,
    hidden: np.ndarray,
    shape: str,
    place: Mapping[str, np.ndarray],
    hover: str,
    spans: tuple[Spans, Spans],
) -> list[dict]:
    """Return the traces over one kind of hidden cells: a pattern, and a text on hover."""
    each = hidden.size <= MAX_NAMED
    said = [_clear(hidden, place, hover + says)] if each else []
    return [*said, hatching(hidden, *spans, "" if each else says, shape=shape, **PLACE)]


def _clear(hidden: np.ndarray, place: Mapping[str, np.ndarray], hover: str) -> dict:
    """Return a clear layer over hidden cells, which says on hover what they are."""
    return {
        **LAYER,
        **place,
        "z": np.where(hidden, 0, np.nan).astype(np.float32),
        "zmin": 0,
        "zmax": 1,
        "colorscale": CLEAR,
        "showscale": False,
        "hovertemplate": hover + "<extra></extra>",
    }
