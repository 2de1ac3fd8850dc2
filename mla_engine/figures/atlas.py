"""All heads of a model at once: a small map each, in the colour of what the head does.

Each map is pooled to a few cells a side. They stand in one image; over it lies a heatmap of one
clear cell for each head, which has the hover and takes the clicks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isqrt

import numpy as np

from mla_engine.figures.axes import bins
from mla_engine.figures.cells import pool
from mla_engine.figures.figure import Figure, figure, titled
from mla_engine.figures.theme import CLEAR, FONT, WORDS, legend_above
from mla_engine.figures.tiles import MAX_TILE, NOTE_PIXELS

MOST_CELLS = 300_000  # of all maps together
ROW_PIXELS, AXIS_PIXELS, LEGEND_PIXELS = 36, 56, 44
SHADES, NONE = 50, 255  # of a colour, and the code of what is clear
# Grey for heads without a name; then the names in their order, apart for all who see colours.
HUES = ("#7F858D", "#009E73", "#D55E00", "#8844BB", "#C49000")
LIGHTER, DARKER = 0.82, 0.45  # how far a ramp's ends lie from its hue towards white and black


@dataclass(frozen=True)
class Tile:
    """One head in an atlas.

    Attributes:
        place: of its map among those that are given.
        hue: of its name among those of the legend.
        said: what the hover says of it.
    """

    place: int
    hue: int
    said: str


def small_maps(maps: np.ndarray, count: int) -> np.ndarray:
    """Return causal maps [h,t,s] as an atlas of `count` heads has room for them.

    Each cell is the largest of those that it stands for, NaN where all of them are masked.
    """
    most = max(1, min(MAX_TILE, isqrt(MOST_CELLS // count)))
    rows, columns = (bins(side, most) for side in maps.shape[1:])
    seen = np.tri(*maps.shape[1:], dtype=bool)
    return np.stack([pool(np.where(seen, one, np.nan), rows, columns) for one in maps])


def tile_under(x: float, y: float, columns: int, count: int) -> int | None:
    """Return the tile of a row of `columns` that a click means, None where there is none."""
    column, row = int(x // 1), int(y // 1)
    tile = row * columns + column
    return tile if 0 <= column < columns and 0 <= tile < count else None


def head_atlas(
    maps: np.ndarray,
    tiles: Sequence[Tile],
    *,
    tokens: int,
    columns: int,
    names: Sequence[str],
    axes: tuple[str, str] | None = None,
    chosen: int | None = None,
    words: Mapping[str, str] = WORDS,
) -> Figure:
    """Draw a causal map for each tile, row by row; darker is more, from 0 to 1.

    Args:
        maps: of each head, as `small_maps` returns them.
        tiles: in the order in which they stand.
        tokens: of the text.
        columns: tiles in a row.
        names: the legend, a name for each hue; the first one is of heads without a name. Without
            names there is none.
        axes: titles of columns and rows, which are then numbered.
        chosen: the tile to frame.
        words: what the figure says, in the reader's language.
    """
    rows, above = ceil(len(tiles) / columns), LEGEND_PIXELS * bool(names)
    pooled = ceil(tokens / maps.shape[1])
    notes = [_note(words, pooled, AXIS_PIXELS * bool(axes))] if pooled > 1 else []
    return figure(
        [_image(maps, tiles, (rows, columns)), _cover(tiles, rows, columns), *_keys(names)],
        height=rows * ROW_PIXELS + AXIS_PIXELS * bool(axes) + above + NOTE_PIXELS,
        x=_axis(columns, axes and axes[0]) | {"range": [-0.05, columns]},
        y=_axis(rows, axes and axes[1]) | {"range": [rows, -0.05]},
        shapes=[] if chosen is None else _frame(*divmod(chosen, columns)),
        annotations=notes,
        hovermode="closest",
        **_legend(shown=bool(names)),
    )


def _image(maps: np.ndarray, tiles: Sequence[Tile], grid: tuple[int, int]) -> dict:
    """Return all maps as one heatmap of bytes: the hue's shades, or what is clear."""
    height, width = maps.shape[1:]
    gaps = max(1, height // 8), max(1, width // 8)
    pitch = height + gaps[0], width + gaps[1]
    codes = np.full((grid[0] * pitch[0], grid[1] * pitch[1]), NONE, np.uint8)
    for number, tile in enumerate(tiles):
        shares = maps[tile.place]
        shade = np.nan_to_num(np.clip(shares, 0, 1) * SHADES).round() + tile.hue * (SHADES + 1)
        top, left = (at * side for at, side in zip(divmod(number, grid[1]), pitch, strict=True))
        place = np.s_[top : top + height, left : left + width]
        codes[place] = np.where(np.isnan(shares), NONE, shade)
    return {
        "type": "heatmap",
        "z": codes,
        "zmin": 0,
        "zmax": NONE,
        "colorscale": _ramps(),
        "zsmooth": "fast",  # an image that the browser fits to its width
        "x0": 0.5 / pitch[1],
        "dx": 1 / pitch[1],
        "y0": 0.5 / pitch[0],
        "dy": 1 / pitch[0],
        "showscale": False,
        "hoverinfo": "skip",
    }


def _ramps() -> list:
    """Return the colour scale of all hues one after the other, and behind them what is clear."""
    scale = []
    for number, hue in enumerate(HUES):
        first = number * (SHADES + 1)
        ends = _mixed(hue, 255, LIGHTER), hue, _mixed(hue, 0, DARKER)
        codes = first, first + SHADES // 2, first + SHADES
        scale += [[code / NONE, colour] for code, colour in zip(codes, ends, strict=True)]
    return [*scale, [1, CLEAR[0][1]]]


def _mixed(hue: str, towards: int, share: float) -> str:
    parts = (int(hue[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (towards - part)):02X}" for part in parts)


def _cover(tiles: Sequence[Tile], rows: int, columns: int) -> dict:
    """Return a clear cell for each tile, with what the hover says."""
    said = [tile.said for tile in tiles] + [None] * (rows * columns - len(tiles))
    there = [[0 if one else None for one in row] for row in _in_rows(said, columns)]
    return {
        "type": "heatmap",
        "z": there,
        "x0": 0.5,
        "dx": 1,
        "y0": 0.5,
        "dy": 1,
        "colorscale": CLEAR,
        "showscale": False,
        "hoverongaps": False,
        "customdata": _in_rows(said, columns),
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _in_rows(values: list, columns: int) -> list[list]:
    return [values[first : first + columns] for first in range(0, len(values), columns)]


def _keys(names: Sequence[str]) -> list[dict]:
    """Return the legend's entries: a square of each hue that some head has."""
    square = {"symbol": "square", "size": 14}
    return [
        {
            "type": "scatter",
            "x": [None],
            "y": [None],
            "mode": "markers",
            "name": name,
            "marker": square | {"color": HUES[hue]},
            "hoverinfo": "skip",
        }
        for hue, name in enumerate(names)
        if name
    ]


def _legend(*, shown: bool) -> dict:
    """Return the legend above, whose entries hide nothing when they are clicked."""
    made = legend_above(shown=shown, height=LEGEND_PIXELS)
    made["legend"] |= {"itemclick": False, "itemdoubleclick": False}
    return made


def _axis(count: int, title: str | None) -> dict:
    """Return an axis on which each tile has the length 1, numbered where it has a title."""
    made = {"showgrid": False, "fixedrange": True, "ticks": "", "showticklabels": bool(title)}
    step = 1 if count <= 12 else 5
    places = range(0, count, step)
    ticks = {"tickmode": "array", "tickvals": [at + 0.5 for at in places]}
    numbered = ticks | {"ticktext": [*map(str, places)], "tickangle": 0} if title else {}
    return made | numbered | (titled(title) if title else {})


def _note(words: Mapping[str, str], side: int, below: int) -> dict:
    """Return one line below the tiles: how many cells each of theirs shows."""
    text = words["pooled"].format(rows=side, columns=side)
    place = {"xref": "paper", "yref": "paper", "x": 1, "y": 0, "xanchor": "right", "yanchor": "top"}
    return place | {"text": text, "showarrow": False, "font": FONT, "yshift": -below}


def _frame(row: int, column: int) -> list[dict]:
    ends = {"x0": column - 0.06, "x1": column + 0.95, "y0": row - 0.06, "y1": row + 0.95}
    return [
        {"type": "rect", "line": {"color": colour, "width": width}} | ends
        for colour, width in (("#FFFFFF", 6), ("#14171C", 3))
    ]
