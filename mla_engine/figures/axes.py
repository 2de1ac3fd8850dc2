"""Numeric axes with words on them: equal words stay apart, numbers stay words, tags stay text."""

import html
from collections.abc import Sequence
from itertools import pairwise

from kvcount.drawn import drawn, isolated
from mla_engine.figures.theme import FONT

MAX_LABELS = 32
LABEL_PIXELS = 22  # a line of text with air around it
PHONE_PIXELS = 264  # what a phone of 390 pixels leaves to the map, where words stand upright
FRAME_PIXELS = 180  # a chart's height less this is left to its map
SIDE_PIXELS = 130  # of its width, beside words of some length
MAX_NUMBERS = 8
MAX_LABEL_LENGTH = 12
MAX_HOVER_LENGTH = 40
CHARACTER_PIXELS = 10
APART = 12  # pixels of an axis's name from its words: Plotly leaves out the 8 between words and map

Spans = Sequence[tuple[int, int]]  # first and last index of each drawn cell


def safe(text: str, length: int) -> str:
    """Return `text` cut to `length` characters, with Plotly's tags and entities disarmed."""
    text = drawn(" ".join(text.split()))
    short = text if len(text) <= length else text[: length - 1] + "…"
    return isolated(html.escape(short, quote=False))


def label_positions(count: int, most: int) -> list[int]:
    """Choose at most `most` positions out of `count`, 1, 2 or 5 times a power of ten apart."""
    steps = (lead * 10**power for power in range(10) for lead in (1, 2, 5))
    return list(range(0, count, next(step for step in steps if step * most >= count)))


def bins(count: int, most: int) -> list[tuple[int, int]]:
    """Return the first and last index of each of at most `most` drawn cells over `count` cells."""
    step = -(-count // most)
    edges = [*range(0, count, step), count]
    return [(first, end - 1) for first, end in pairwise(edges)]


def span_of(spans: Spans, index: int) -> tuple[int, int]:
    """Return the first and last index of the drawn cell that holds `index`."""
    return next(span for span in spans if span[0] <= index <= span[1])


def label(spans: Spans, words: Sequence[str] | None) -> list[str]:
    """Name each drawn cell by its word and position, or by the positions that it covers."""
    texts = []
    for first, last in spans:
        if last > first:
            texts.append(f"{first}–{last}")
        elif words is None:
            texts.append(str(first))
        else:
            texts.append(f"{safe(words[first], MAX_HOVER_LENGTH)} ({first})")
    return texts


# An axis without a trace is not drawn: the first pair of a map's axes has this one.
NO_TRACE = {
    "type": "scatter",
    "x": [None],
    "y": [None],
    "hoverinfo": "skip",
    "showlegend": False,
}
Cells = tuple[Spans, Sequence[str] | None, str]  # spans, words, title


def wide(labels: Sequence[str], pixels: int) -> bool:
    """Return True if labels side by side, a space between them, need more than `pixels`."""
    return sum(len(label) + 1 for label in labels) * CHARACTER_PIXELS > pixels


def name_cells(
    *,
    x: Cells,
    y: Cells,
    height: int,
    width: int = PHONE_PIXELS,
    square: bool = False,
    cell: tuple[int, int] | None = None,
) -> dict:
    """Return the two pairs of axes of a heatmap with their words, row 0 at the top, for `figure`.

    The first pair prints at most `MAX_LABELS` short words and the title. The heatmap lies on a
    second pair over it, which prints nothing and names every cell: the hover reads it. A text for
    each cell would cost rows times columns strings on the wire; this costs rows plus columns.

    Args:
        x: spans of the columns (first, last index), their words or None, the title.
        y: the same of the rows.
        height: pixels of the figure.
        width: pixels that the narrowest screen leaves to the columns.
        square: make every cell as wide as high.
        cell: the chosen row and column, whose labels are always among those printed.
    """
    high = height - FRAME_PIXELS
    pixels = {"x": width, "y": min(width, high) if square else high}
    axes, (row, column) = {}, cell or (None, None)
    for side, cells, chosen in (("x", x, column), ("y", y, row)):
        fixed = _fixed(cells[0], downwards=side == "y")
        hidden = {"showticklabels": False, "ticks": "", "overlaying": side}
        axes[side] = fixed | _printed(*cells, pixels[side], chosen)
        axes[f"{side}axis2"] = fixed | _every(*cells[:2]) | hidden
    if square:
        _square(axes)
    if wide(axes["x"]["ticktext"], width):  # upright, lest neighbours read as one word
        axes["x"]["tickangle"] = axes["xaxis2"]["tickangle"] = 90
    return axes


def _fixed(spans: Spans, *, downwards: bool) -> dict:
    """Return the common part of both axes of a side."""
    ends = [spans[0][0] - 0.5, spans[-1][1] + 0.5]
    return {
        "range": ends[::-1] if downwards else ends,
        "tickmode": "array",
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "tickfont": FONT,
    }


def _square(axes: dict[str, dict]) -> None:
    """Make every cell as wide as high, the map at the top, under its colour bar."""
    for x, y, anchor in (("x", "y", "x"), ("xaxis2", "yaxis2", "x2")):
        axes[x]["constrain"] = "domain"
        axes[y] |= {"constrain": "domain", "constraintoward": "top", "scaleanchor": anchor}


def _printed(
    spans: Spans, words: Sequence[str] | None, title: str, pixels: int, chosen: int | None
) -> dict:
    """Return the labels that fit into `pixels`, the chosen index before others, and the title."""
    most = MAX_NUMBERS if words is None else min(MAX_LABELS, pixels // LABEL_PIXELS)
    places = {spans[i]: spans[i][0] for i in label_positions(len(spans), most)}
    if chosen is not None:
        own, apart = spans.index(span_of(spans, chosen)), -(-len(spans) // most)
        beside = spans[max(0, own - apart + 1) : own + apart]
        places = {span: at for span, at in places.items() if span not in beside}
        places[spans[own]] = chosen
    shown = sorted(places.items())
    return {
        "tickvals": [(first + last) / 2 for (first, last), _ in shown],
        "ticktext": [
            str(at) if words is None else safe(words[at], MAX_LABEL_LENGTH) for _, at in shown
        ],
        "title": {"text": title, "font": FONT, "standoff": APART},
        "automargin": True,
    }


def _every(spans: Spans, words: Sequence[str] | None) -> dict:
    """Return a name for each drawn cell."""
    return {
        "tickvals": [(first + last) / 2 for first, last in spans],
        "ticktext": label(spans, words),
        "title": {"font": FONT},
    }
