"""Matrices as pictures: attention, scores and every other tensor.

Rows run downwards and columns to the right, as in the printed matrix: queries on y, keys on x.
Masked cells are hatched, not zero. Larger matrices are pooled, and the figure says so.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

import numpy as np

from mla_engine.figures.axes import (
    FRAME_PIXELS,
    MAX_HOVER_LENGTH,
    NO_TRACE,
    PHONE_PIXELS,
    SIDE_PIXELS,
    Spans,
    name_cells,
    safe,
)
from mla_engine.figures.cells import HEIGHT, drawn_cells, frame, lines_before, marks, pool
from mla_engine.figures.cells import numbers as printed
from mla_engine.figures.figure import Figure, figure
from mla_engine.figures.hatching import LAYER, covered, hidden_cells
from mla_engine.figures.theme import (
    FONT,
    PROBABILITY,
    SIGNED,
    TRANSPARENT,
    WORDS,
)

MAX_PRINTED = 12  # a side up to which each cell prints its number
BAR_HEIGHT = 14
SHORT = 5  # characters at an end of the bar, which stand within the map's own margins
EDGE_ROOM = 24  # for half of the bar's last number
NOTHING: Mapping[str, np.ndarray] = {}

Colours = tuple[float, float, list]  # lower limit, upper limit, colour scale


def shared_limit(*scores: np.ndarray) -> float:
    """Return the symmetric limit that panels to be compared share: the largest finite magnitude."""
    finite = [np.abs(values[np.isfinite(values)]).max(initial=0.0) for values in scores]
    return float(max(finite, default=0.0)) or 1.0


class Options(TypedDict, total=False):
    """The options of every map.

    A framed cell (row, column), a height, whether the cells of a small map print their numbers,
    the reader's words, the pixels that the narrowest screen leaves to the map's width, cells [t,s]
    to mark by a dot with what a dot means, what is said of hidden cells [t,s] that are not masked
    but left out, which are dotted, and the columns before which a line stands.
    """

    cell: tuple[int, int] | None
    height: int
    numbers: bool
    words: Mapping[str, str]
    width: int
    marked: tuple[np.ndarray, str] | None
    left_out: Mapping[str, np.ndarray]
    breaks: Sequence[int]


def attention_map(
    attention: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    mask: np.ndarray | None = None,
    head: str = "",
    name: str = "attention",
    **options: Unpack[Options],
) -> Figure:
    """Draw the attention [t, s] of one head in [0, 1]; `mask` [t, s] is True where t may see s."""
    colours = (0.0, 1.0, PROBABILITY)
    return token_map(attention, (queries, keys), colours, mask, head, name, **options)


def score_map(
    scores: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    limit: float | None = None,
    mask: np.ndarray | None = None,
    head: str = "",
    name: str = "score",
    **options: Unpack[Options],
) -> Figure:
    """Draw the logits [t, s] of one head on a symmetric scale; compared panels share a `limit`."""
    limit = shared_limit(scores) if limit is None else limit
    colours = (-limit, limit, SIGNED)
    return token_map(scores, (queries, keys), colours, mask, head, name, **options)


def tensor_map(
    values: np.ndarray,
    *,
    axes: tuple[str, str],
    name: str,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    limit: float | None = None,
    **options: Unpack[Options],
) -> Figure:
    """Draw a matrix on a symmetric scale; `axes` names its sides, words stand for numbers."""
    limit = shared_limit(values) if limit is None else limit
    hover = f"{axes[0]} %{{y}}<br>{axes[1]} %{{x}}<br>"
    return _draw(values, (rows, columns), axes, (-limit, limit, SIGNED), hover, name, **options)


def share_map(
    values: np.ndarray,
    *,
    axes: tuple[str, str],
    name: str,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> Figure:
    """Draw a matrix of shares, numbers in [0, 1]; `axes` names rows and columns."""
    hover = f"{axes[0]} %{{y}}<br>{axes[1]} %{{x}}<br>"
    return _draw(values, (rows, columns), axes, (0.0, 1.0, PROBABILITY), hover, name, **options)


def token_map(
    values: np.ndarray,
    tokens: tuple[Sequence[str] | None, Sequence[str] | None],
    colours: Colours,
    mask: np.ndarray | None,
    head: str,
    name: str,
    spans: tuple[Spans, Spans] | None = None,
    **options: Unpack[Options],
) -> Figure:
    """Draw a map of tokens [t,s] in the words of the reader; `spans` are those of its cells."""
    words = options.get("words", WORDS)
    seen = values if mask is None else np.where(mask, values, np.nan)
    hover = f"{words['query']} %{{y}}<br>{words['key']} %{{x}}<br>"
    if head:
        hover += f"{words['head']} {safe(head, MAX_HOVER_LENGTH)}<br>"
    axes = words["query"], words["key"]
    lost = np.isposinf(values) if mask is None else mask & ~np.isfinite(values)
    if lost.any():
        options["left_out"] = {**options.get("left_out", NOTHING), words["unplaced"]: lost}
    return _draw(seen, tokens, axes, colours, hover, name, square=True, spans=spans, **options)


def _draw(
    values: np.ndarray,
    labels: tuple[Sequence[str] | None, Sequence[str] | None],
    axes: tuple[str, str],
    colours: Colours,
    hover: str,
    name: str,
    *,
    cell: tuple[int, int] | None = None,
    height: int = HEIGHT,
    numbers: bool = True,
    words: Mapping[str, str] = WORDS,
    width: int = PHONE_PIXELS,
    marked: tuple[np.ndarray, str] | None = None,
    left_out: Mapping[str, np.ndarray] = NOTHING,
    breaks: Sequence[int] = (),
    square: bool = False,
    spans: tuple[Spans, Spans] | None = None,
) -> Figure:
    rows, columns = spans or drawn_cells(values.shape, height, square)
    drawn = pool(values, rows, columns)
    place = {
        "x": np.array([(a + b) / 2 for a, b in columns], dtype=np.float32),
        "y": np.array([(a + b) / 2 for a, b in rows], dtype=np.float32),
    }
    bar = _colour_bar(*colours[:2], width, square=square)
    traces = [_heat(drawn, place, colours, bar, f"{hover}{name} %{{z:.6g}}<extra></extra>")]
    kinds = hidden_cells(drawn, left_out, words["masked"], (rows, columns))
    traces += [trace for kind in kinds for trace in covered(*kind, place, hover, (rows, columns))]
    if numbers and max(drawn.shape) <= MAX_PRINTED:
        traces += printed(traces[0])
    column_title = axes[1]
    block = {"rows": _length(rows), "columns": _length(columns)}
    if max(block.values()) > 1:
        column_title += f"<br>{words['pooled'].format(**block)}"
    named = {"x": (columns, labels[1], column_title), "y": (rows, labels[0], axes[0])}
    return figure(
        [*traces, NO_TRACE, *([marks(*marked)] if marked else [])],
        height=height,
        margin={"t": 0, "r": EDGE_ROOM},
        meta={"around": {"x": SIDE_PIXELS, "y": FRAME_PIXELS}} if square else None,
        shapes=lines_before(breaks) + ([] if cell is None else frame(cell, rows, columns, height)),
        **name_cells(**named, height=height, width=width, square=square, cell=cell),
    )


def _length(spans: Spans) -> int:
    """Say how many tokens a drawn cell stands for."""
    first, last = spans[0]
    return last - first + 1


def _heat(
    drawn: np.ndarray, place: dict[str, np.ndarray], colours: Colours, bar: dict, hover: str
) -> dict:
    low, high, scale = colours
    return {
        **LAYER,
        **place,
        "z": drawn,
        "zmin": low,
        "zmax": high,
        "colorscale": scale,
        "hovertemplate": hover,
        "colorbar": bar,
    }


def _colour_bar(low: float, high: float, width: int, *, square: bool) -> dict:
    """Return the colour bar above the map, with few ticks, or with its ends only.

    Above a square map it is as long as a phone has room for: wider than the map it would belong to
    the page.
    """
    ticks = [low, (low + high) / 2, high] if width >= PHONE_PIXELS else [low, high]
    texts = [f"{tick:.3g}".replace("-", "−") for tick in ticks]
    length = 1 if max(map(len, texts)) <= SHORT else 0.85  # a long one needs room beside it
    return {
        "orientation": "h",
        "thickness": BAR_HEIGHT,
        **({"lenmode": "pixels", "len": min(width, PHONE_PIXELS)} if square else {"len": length}),
        "y": 1.0,
        "yanchor": "bottom",
        "ypad": 8,
        "title": {"text": ""},  # without one Plotly moves the axes' names to make room for it
        "tickvals": ticks,
        "ticktext": texts,
        "tickfont": FONT,
        "tickangle": 0,
        "outlinewidth": 0,
        "bgcolor": TRANSPARENT,
    }


def span_map(
    shares: np.ndarray,
    rows: Spans,
    columns: Spans,
    *,
    tokens: Sequence[str] | None = None,
    limit: float,
    head: str = "",
    name: str = "attention",
    **options: Unpack[Options],
) -> Figure:
    """Draw a long text's attention by blocks of tokens, the largest share of each, or a part.

    Args:
        shares: a share for each drawn cell.
        rows: first and last query that each row stands for.
        columns: first and last key that each column stands for.
        tokens: all words of the text, to name cells of one token; by default they have numbers.
        limit: the largest share of the colours.
        head: its number.
        name: of what is drawn.
        options: of every map; a framed cell is a query and a key.
    """
    seen = np.array([[first <= last for first, _ in columns] for _, last in rows])
    colours, spans = (0.0, limit, PROBABILITY), (rows, columns)
    labels = tokens, tokens
    return token_map(shares, labels, colours, seen, head, name, spans=spans, **options)
