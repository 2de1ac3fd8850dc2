"""All heads at a glance: one heatmap in which every head is a tile, with gaps between.

Sixteen charts of one head each cost 25 times as much as one chart of sixteen tiles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from mla_engine.figures.axes import bins, label
from mla_engine.figures.cells import pool
from mla_engine.figures.figure import Figure, figure
from mla_engine.figures.hatching import LEFT_OUT, MASKED_BY, MAX_NAMED, PATTERN, areas, outlines
from mla_engine.figures.theme import CLEAR, FONT, PROBABILITY, WORDS

MAX_TILE = 32  # cells a side of one head
ACROSS = 128  # cells of all heads side by side: a browser shows no more
EDGE = 8  # pixels around all tiles
NOTE_PIXELS = 28  # below the tiles, for the line that says that they are pooled
MAX_LABELLED = 36  # tiles; beyond it only the first of each row carries its label
HEIGHT = 520


def most_of_tile(columns: int) -> int:
    """Return the cells a side of each tile, where so many stand in a row."""
    return max(1, min(MAX_TILE, ACROSS // columns))


@dataclass(frozen=True)
class TileGrid:
    """The places of tiles, in cells: each `height` x `width`, `columns` of them in a row."""

    count: int
    height: int
    width: int
    columns: int

    @classmethod
    def of(cls, shape: tuple[int, int, int]) -> "TileGrid":
        """Return the nearly square grid for an attention of shape [h, t, s]."""
        count, *sides = shape
        columns = ceil(sqrt(count))
        height, width = (len(bins(side, most_of_tile(columns))) for side in sides)
        return cls(count, height, width, columns)

    @property
    def rows(self) -> int:
        """Rows of tiles."""
        return ceil(self.count / self.columns)

    @property
    def gap(self) -> int:
        """Empty columns between two tiles."""
        return max(1, self.width // 8)

    @property
    def head_room(self) -> int:
        """Empty rows above a tile, for its label."""
        return max(1, ceil(self.height * 0.04 * (self.rows + 2)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole picture."""
        return (
            self.rows * (self.height + self.head_room),
            self.columns * (self.width + self.gap) - self.gap,
        )

    def corner(self, tile: int) -> tuple[int, int]:
        """Return the row and column of a tile's first cell."""
        row, column = divmod(tile, self.columns)
        top = row * (self.height + self.head_room) + self.head_room
        return top, column * (self.width + self.gap)

    def tile_at(self, x: float, y: float) -> int | None:
        """Return the tile under a click; its label and the gap to its right belong to it."""
        column = int((x + 0.5) // (self.width + self.gap))
        row = int((y + 0.5) // (self.height + self.head_room))
        tile = row * self.columns + column
        inside = 0 <= column < self.columns and row >= 0 and tile < self.count
        return tile if inside else None


def head_tiles(
    attention: np.ndarray,
    heads: Sequence[int] | Sequence[str],
    *,
    tokens: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
    mask: np.ndarray | None = None,
    chosen: int | None = None,
    height: int = HEIGHT,
    words: Mapping[str, str] = WORDS,
) -> Figure:
    """Draw the attention [h, t, s] of all `heads` on one scale.

    Args:
        attention: probabilities [h, t, s].
        heads: the number or name that each head goes by, [h].
        tokens: the words of queries and keys; None names them by position.
        mask: [t, s], True where t may see s.
        chosen: the tile to frame, an index into `heads`.
        height: pixels.
        words: what the figure says, in the reader's language.
    """
    grid = TileGrid.of(attention.shape)
    rows, columns = (bins(side, most_of_tile(grid.columns)) for side in attention.shape[1:])
    seen = attention if mask is None else np.where(mask, attention, np.nan)
    tiles = np.stack([pool(values, rows, columns) for values in seen])
    hidden = np.isnan(tiles)
    lost = hidden & (mask is not None and pool(mask.astype(np.float32), rows, columns) > 0)
    owner = _owner(grid, heads)
    layers = [_picture(grid, tiles, owner, words)]
    for cells, code, shape in ((hidden & ~lost, "masked", MASKED_BY), (lost, "unplaced", LEFT_OUT)):
        layers += _covered(grid, cells, owner, words, code, shape)
    pooled = (len(rows), len(columns)) != attention.shape[1:]
    notes = _note(words, rows[0][1] + 1, columns[0][1] + 1) if pooled else []
    return figure(
        layers,
        height=height,
        margin={"b": NOTE_PIXELS} if pooled else None,
        annotations=_labels(grid, heads) + notes,
        shapes=[] if chosen is None else _frame(grid, chosen),
        meta={
            "pitch": {"x": grid.width + grid.gap, "y": grid.height + grid.head_room},
            "around": {"x": 2 * EDGE, "y": EDGE + (NOTE_PIXELS if pooled else EDGE)},
        },
        **_named_cells(grid, label(rows, tokens[0]), label(columns, tokens[1])),
    )


def _laid_out(grid: TileGrid, tiles: np.ndarray) -> np.ndarray:
    """Return all tiles in one array, with gaps between."""
    picture = np.full(grid.shape, np.nan, dtype=np.float32)
    for tile, values in enumerate(tiles):
        picture[_place(grid, tile)] = values
    return picture


def _owner(grid: TileGrid, heads: Sequence[int] | Sequence[str]) -> np.ndarray:
    """Return the head of every cell."""
    names = np.array(heads)
    if names.dtype.kind != "U":
        names = names.astype(np.min_scalar_type(max(heads)))
    owner = np.zeros(grid.shape, dtype=names.dtype)
    for tile, name in enumerate(names):
        owner[_place(grid, tile)] = name
    return owner


def _place(grid: TileGrid, tile: int) -> tuple[slice, slice]:
    top, left = grid.corner(tile)
    return np.s_[top : top + grid.height, left : left + grid.width]


def _covered(
    grid: TileGrid,
    cells: np.ndarray,
    owner: np.ndarray,
    words: Mapping[str, str],
    code: str,
    shape: str,
) -> list[dict]:
    """Return the traces over hidden cells [h,t,s]: a clear layer that says so, and a pattern."""
    if not cells.any():
        return []
    layers, says = [], words[code]
    if owner.size <= MAX_NAMED:
        clear = {"z": _laid_out(grid, np.where(cells, 0, np.nan)), "colorscale": CLEAR}
        layers = [
            _common(owner) | clear | {"hovertemplate": f"{_hover(words)}{says}<extra></extra>"}
        ]
    known, every = {}, []  # most often all tiles have the same
    for tile, hidden in enumerate(cells):
        (top, left), key = grid.corner(tile), hidden.tobytes()
        known[key] = known.get(key) or outlines(hidden)
        every += [[(left + s - 0.5, top + t - 0.5) for s, t in outline] for outline in known[key]]
    pattern = {"fillpattern": PATTERN | {"shape": shape}}
    return [*layers, areas(every, "" if layers else says) | pattern]


def _named_cells(grid: TileGrid, queries: list[str], keys: list[str]) -> dict:
    """Return axes that print nothing, and name rows and columns of every tile for the hover."""
    tops = [grid.corner(row * grid.columns)[0] for row in range(grid.rows)]
    lefts = [grid.corner(column)[1] for column in range(grid.columns)]
    x = _blank(lefts, keys) | {"range": [-1, grid.shape[1]]}
    y = _blank(tops, queries) | {"range": [grid.shape[0], -0.5]}
    return {"x": x, "y": y | {"constraintoward": "top", "scaleanchor": "x"}}


def _blank(starts: Sequence[int], names: list[str]) -> dict:
    return {
        "tickmode": "array",
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "fixedrange": True,
        "constrain": "domain",
        "tickvals": [start + place for start in starts for place in range(len(names))],
        "ticktext": names * len(starts),
    }


def _note(words: Mapping[str, str], rows: int, columns: int) -> list[dict]:
    """Return one line below the tiles: how many cells each of theirs shows."""
    text = words["pooled"].format(rows=rows, columns=columns)
    place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0, "yanchor": "top"}
    return [place | {"text": text, "showarrow": False, "font": FONT}]


def _common(owner: np.ndarray) -> dict:
    return {
        "type": "heatmap",
        "zmin": 0,
        "zmax": 1,
        "showscale": False,
        "hoverongaps": False,
        "customdata": owner,
    }


def _hover(words: Mapping[str, str]) -> str:
    return (
        f"{words['head']} %{{customdata}}<br>{words['query']} %{{y}}<br>{words['key']} %{{x}}<br>"
    )


def _picture(
    grid: TileGrid, tiles: np.ndarray, owner: np.ndarray, words: Mapping[str, str]
) -> dict:
    looks = {
        "colorscale": PROBABILITY,
        "hovertemplate": f"{_hover(words)}%{{z:.4g}}<extra></extra>",
    }
    return _common(owner) | looks | {"z": _laid_out(grid, tiles)}


def _labels(grid: TileGrid, heads: Sequence[int] | Sequence[str]) -> list[dict]:
    step = 1 if grid.count <= MAX_LABELLED else grid.columns
    return [
        {
            "x": left - 0.5,
            "y": top - 0.5,
            "text": str(heads[tile]),
            "showarrow": False,
            "xanchor": "left",
            "yanchor": "bottom",
            "font": FONT,
            "borderpad": 0,
        }
        for tile in range(0, grid.count, step)
        for top, left in [grid.corner(tile)]
    ]


def _frame(grid: TileGrid, tile: int) -> list[dict]:
    top, left = grid.corner(tile)
    return [
        {
            "type": "rect",
            "name": "frame",
            "x0": left - 0.5,
            "x1": left + grid.width - 0.5,
            "y0": top - 0.5,
            "y1": top + grid.height - 0.5,
            "line": {"color": colour, "width": width},
        }
        for colour, width in (("#FFFFFF", 8), ("#14171C", 4))
    ]
