"""Cells of a map: pooled where there are many, found under a click, framed, marked and printed."""

from collections.abc import Sequence

import numpy as np
from plotly.colors import sample_colorscale, unlabel_rgb

from mla_engine.figures.axes import FRAME_PIXELS, PHONE_PIXELS, Spans, bins, span_of
from mla_engine.figures.theme import CLEAR, MASKED

CELL_PIXELS = 2  # a side at least: smaller cells take a browser's time and show nothing
HEIGHT = 520  # pixels of a map
MAX_COLUMNS = 160  # of a map as wide as there is room: a third of a page has twice the pixels
FRAMED_PIXELS = 16  # a frame's least side
BLANK = " "  # where the other layer prints: letters are as large as all cells leave room for

DARK, LIGHT = "#000000", "#FFFFFF"  # one of them has over 4.5:1 on any colour


def most_cells(height: int) -> int:
    """Return the number of cells a side that a map of this height in pixels shows."""
    return (height - FRAME_PIXELS) // CELL_PIXELS


def drawn_cells(shape: tuple[int, int], height: int, square: bool) -> tuple[Spans, Spans]:
    """Return what each drawn row and column stands for in a map of this height in pixels."""
    most = most_cells(height)
    return bins(shape[0], most), bins(shape[1], most if square else MAX_COLUMNS)


def pool(values: np.ndarray, rows: Spans, columns: Spans) -> np.ndarray:
    """Return the value of the largest magnitude in each block, float32; NaN if all is hidden."""
    finite = np.where(np.isfinite(values), values, np.nan).astype(np.float32)
    if (len(rows), len(columns)) == values.shape:
        return finite
    starts_t, starts_s = [first for first, _ in rows], [first for first, _ in columns]

    def blocks(ufunc: np.ufunc) -> np.ndarray:
        return ufunc.reduceat(ufunc.reduceat(finite, starts_t, axis=0), starts_s, axis=1)

    high, low = blocks(np.fmax), blocks(np.fmin)
    return np.where(-low > high, low, high)


def cell_at(values: np.ndarray, x: float, y: float, *, height: int = HEIGHT) -> tuple[int, int]:
    """Find row and column under a click on the map of `values`; in a pooled cell those it shows."""
    (top, bottom), (left, right) = (
        span_of(bins(side, most_cells(height)), min(max(round(place), 0), side - 1))
        for side, place in zip(values.shape, (y, x), strict=True)
    )
    block = values[top : bottom + 1, left : right + 1]
    shown = pool(block, [(0, bottom - top)], [(0, right - left)])
    row, column = np.unravel_index((block.astype(np.float32) == shown).argmax(), block.shape)
    return top + int(row), left + int(column)


def frame(cell: tuple[int, int], rows: Spans, columns: Spans, height: int) -> list[dict]:
    """Return a frame around the drawn cell that holds row and column `cell`, dark on light.

    Where cells are small it has FRAMED_PIXELS a side around the cell's middle.
    """
    sides = _side("y", rows, cell[0], height - FRAME_PIXELS)
    sides |= _side("x", columns, cell[1], PHONE_PIXELS)
    return [
        {"type": "rect", "name": "frame", "line": {"color": colour, "width": width}}
        | {"xref": "x2", "yref": "y2"}
        | sides
        for colour, width in (("#FFFFFF", 5), ("#14171C", 2))
    ]


def lines_before(columns: Sequence[int]) -> list[dict]:
    """Return an upright line before each of these columns of a map."""
    line = {"type": "line", "line": {"color": MASKED, "width": 2}, "xref": "x2"}
    up = {"y0": 0, "y1": 1, "yref": "y2 domain"}
    return [line | up | {"x0": at - 0.5, "x1": at - 0.5} for at in columns]


def _side(axis: str, spans: Spans, index: int, pixels: int) -> dict:
    first, last = span_of(spans, index)
    if len(spans) * FRAMED_PIXELS <= pixels:
        return {f"{axis}0": first - 0.5, f"{axis}1": last + 0.5}
    half = FRAMED_PIXELS / 2
    middle = {f"{axis}sizemode": "pixel", f"{axis}anchor": (first + last) / 2}
    return middle | {f"{axis}0": -half, f"{axis}1": half}


def numbers(heat: dict) -> list[dict]:
    """Print the values of `heat` by two invisible layers, dark on light and light on dark."""
    dark, z = _dark(heat), heat["z"]
    written = np.char.mod("%.2f", np.nan_to_num(z))
    return [
        {
            "type": "heatmap",
            "z": np.where(where, z, np.nan).astype(np.float32),
            **{place: heat[place] for place in ("x", "y", "xaxis", "yaxis")},
            "colorscale": CLEAR,
            "showscale": False,
            "hoverinfo": "skip",
            "text": np.where(where & np.isfinite(z), written, BLANK),
            "texttemplate": "%{text}",
            "textfont": {"color": colour},
        }
        for colour, where in ((LIGHT, dark), (DARK, ~dark))
        if np.isfinite(z[where]).any()
    ]


def _dark(heat: dict) -> np.ndarray:
    """Return True where light letters have the higher contrast on a cell, bool [t,s] (WCAG 2.2)."""
    low, high = heat["zmin"], heat["zmax"]
    share = np.clip((np.nan_to_num(heat["z"]) - low) / (high - low), 0, 1)
    colours = sample_colorscale([*map(list, heat["colorscale"])], share.ravel().tolist())
    luminance = np.reshape([relative_luminance(colour) for colour in colours], share.shape)
    return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05


def relative_luminance(colour: str) -> float:
    """Return the luminance of "rgb(r, g, b)", between 0 and 1, as WCAG 2.2 defines it."""
    channels = np.array(unlabel_rgb(colour), dtype=float) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


MARK = {
    "symbol": "circle",
    "color": "#FFFFFF",
    "size": 11,
    "line": {"color": "#14171C", "width": 2},
}


def marks(cells: np.ndarray, name: str) -> dict:
    """Return a dot on every cell of a map where `cells` [t,s] is True.

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
