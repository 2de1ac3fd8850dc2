"""Cells of a map in which there is nothing: masked, or left out for a reason of their own."""

from collections.abc import Mapping

import numpy as np

from mla_engine.figures.axes import Spans
from mla_engine.figures.cells import pool
from mla_engine.figures.hatching import hatching
from mla_engine.figures.theme import CLEAR

MAX_NAMED = 64**2  # masked cells that say so each; of more the whole area does
MASKED_BY, LEFT_OUT = "/", "."  # patterns
PLACE = {"xaxis": "x2", "yaxis": "y2"}
LAYER = {"type": "heatmap", "hoverongaps": False} | PLACE

Kind = tuple[str, np.ndarray, str]  # what is said of hidden cells, which they are [t,s], a pattern


def hidden_cells(
    drawn: np.ndarray, left_out: Mapping[str, np.ndarray], masked: str, spans: tuple[Spans, Spans]
) -> list[Kind]:
    """The kinds of hidden cells of a map.

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
    """The traces over one kind of hidden cells: their pattern, and what each says on hover."""
    each = hidden.size <= MAX_NAMED
    said = [_clear(hidden, place, hover + says)] if each else []
    return [*said, hatching(hidden, *spans, "" if each else says, shape=shape, **PLACE)]


def _clear(hidden: np.ndarray, place: Mapping[str, np.ndarray], hover: str) -> dict:
    """A clear layer over hidden cells, which says on hover what they are."""
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
