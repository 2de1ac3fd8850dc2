"""Numeric axes with words on them: equal words stay apart, numbers stay words, tags stay text."""

import html
from collections.abc import Sequence
from itertools import pairwise

import plotly.graph_objects as go

from mla_engine.drawn import drawn, isolated
from mla_engine.figures.theme import FONT_SIZE

MAX_LABELS = 32
LABEL_PIXELS = 22  # a line of text with air around it
PHONE_PIXELS = 264  # what a phone of 390 pixels leaves to the map, where words stand upright
FRAME_PIXELS = 180  # a chart's height less this is left to its map
MAX_NUMBERS = 8
MAX_LABEL_LENGTH = 12
MAX_HOVER_LENGTH = 40
CHARACTER_PIXELS = 10

Spans = Sequence[tuple[int, int]]  # first and last index of each drawn cell


def safe(text: str, length: int) -> str:
    """`text` cut to `length` characters, with Plotly's tags and entities disarmed."""
    text = drawn(" ".join(text.split()))
    short = text if len(text) <= length else text[: length - 1] + "…"
    return isolated(html.escape(short, quote=False))


def label_positions(count: int, most: int) -> list[int]:
    """At most `most` positions out of `count`, evenly spaced by 1, 2 or 5 times a power of ten."""
    steps = (lead * 10**power for power in range(10) for lead in (1, 2, 5))
    return list(range(0, count, next(step for step in steps if step * most >= count)))


def bins(count: int, most: int) -> list[tuple[int, int]]:
    """First and last index of each of at most `most` drawn cells that cover `count` cells."""
    step = -(-count // most)
    edges = [*range(0, count, step), count]
    return [(first, end - 1) for first, end in pairwise(edges)]


def span_of(spans: Spans, index: int) -> tuple[int, int]:
    """First and last index of the drawn cell that holds `index`."""
    return next(span for span in spans if span[0] <= index <= span[1])


def label(spans: Spans, words: Sequence[str] | None) -> list[str]:
    """One text for each drawn cell: its word and position, or the positions that it covers."""
    texts = []
    for first, last in spans:
        if last > first:
            texts.append(f"{first}–{last}")
        elif words is None:
            texts.append(str(first))
        else:
            texts.append(f"{safe(words[first], MAX_HOVER_LENGTH)} ({first})")
    return texts


Cells = tuple[Spans, Sequence[str] | None, str]  # spans, words, title


def name_cells(
    fig: go.Figure, *, x: Cells, y: Cells, width: int = PHONE_PIXELS, square: bool = False
) -> None:
    """Give a heatmap's two axes their words, row 0 at the top.

    The first pair of axes prints at most `MAX_LABELS` short words and the title. The heatmap lies
    on a second pair over it, which prints nothing and names every cell: the hover reads it. A text
    for each cell would cost rows times columns strings on the wire; this costs rows plus columns.

    Args:
        fig: a figure whose heatmaps have numeric coordinates.
        x: spans of the columns (first, last index), their words or None, the title.
        y: the same of the rows.
        width: pixels that the narrowest screen leaves to the columns.
        square: make every cell as wide as high.
    """
    height = fig.layout.height - FRAME_PIXELS
    for name, cells, pixels in (
        ("xaxis", x, width),
        ("yaxis", y, min(width, height) if square else height),
    ):
        fixed = _fixed(cells[0], downwards=name == "yaxis")
        hidden = {"showticklabels": False, "ticks": "", "overlaying": name[0]}
        fig.update_layout(
            {
                name: fixed | _printed(*cells, pixels),
                f"{name}2": fixed | _every(*cells[:2]) | hidden,
            }
        )
    if square:
        _square(fig)
    if _wide(fig.layout.xaxis.ticktext, width):
        fig.update_xaxes(tickangle=90)  # upright, lest neighbours read as one word
    fig.update_traces(xaxis="x2", yaxis="y2", selector={"type": "heatmap"})
    # An axis without a trace is not drawn.
    fig.add_scatter(x=[None], y=[None], hoverinfo="skip", showlegend=False)


def _fixed(spans: Spans, *, downwards: bool) -> dict:
    """What both axes of a side have in common."""
    ends = [spans[0][0] - 0.5, spans[-1][1] + 0.5]
    return {
        "range": ends[::-1] if downwards else ends,
        "tickmode": "array",
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "tickfont": {"size": FONT_SIZE},
    }


def _square(fig: go.Figure) -> None:
    """Every cell as wide as high, the map at the top, under its colour bar."""
    for n in ("", "2"):
        upright = {"constrain": "domain", "constraintoward": "top", "scaleanchor": f"x{n}"}
        fig.update_layout({f"xaxis{n}": {"constrain": "domain"}, f"yaxis{n}": upright})


def _wide(labels: Sequence[str], pixels: int) -> bool:
    """Whether labels side by side, a space between, need more than `pixels`."""
    return sum(len(label) + 1 for label in labels) * CHARACTER_PIXELS > pixels


def _printed(spans: Spans, words: Sequence[str] | None, title: str, pixels: int) -> dict:
    """The labels that fit into `pixels`, and the title."""
    most = MAX_NUMBERS if words is None else min(MAX_LABELS, pixels // LABEL_PIXELS)
    shown = [spans[i] for i in label_positions(len(spans), most)]
    return {
        "tickvals": [(first + last) / 2 for first, last in shown],
        "ticktext": [
            str(first) if words is None else safe(words[first], MAX_LABEL_LENGTH)
            for first, _ in shown
        ],
        "title": {"text": title, "font": {"size": FONT_SIZE}},
        "automargin": True,
    }


def _every(spans: Spans, words: Sequence[str] | None) -> dict:
    """A name for each drawn cell."""
    return {
        "tickvals": [(first + last) / 2 for first, last in spans],
        "ticktext": label(spans, words),
        "title": {"font": {"size": FONT_SIZE}},
    }
