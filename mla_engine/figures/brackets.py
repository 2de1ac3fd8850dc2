"""A product of three matrices and the order in which it is taken, as boxes in their proportions.

Three lines: the factors with the bracket around the pair that is multiplied first; what that makes
beside the factor that remains; the result. Sides grow with the logarithm of rows and columns.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import plotly.graph_objects as go

from mla_engine.figures.theme import COLOURS, FONT_SIZE, figure

HEIGHT = 430
LEAST, MOST = 0.3, 0.62  # sides of a box, of a place's width and height
PLACE_PIXELS = 115  # a place's width on a phone
BRACKET_WIDTH = 5
LINE_WIDTH = 3
STRESSED = FONT_SIZE + 2


@dataclass(frozen=True)
class Block:
    """One matrix: its name in Plotly's text, rows, columns, the role that picks its colour."""

    label: str
    rows: int
    columns: int
    role: str


def bracketed(
    factors: Sequence[Block],
    first: int,
    inner: Block,
    result: Block,
    *,
    steps: tuple[str, str] = ("", ""),
    height: int = HEIGHT,
) -> go.Figure:
    """The three lines of a product, from top to bottom.

    Args:
        factors: three, from left to right.
        first: 0 for the bracket on the left, 1 on the right.
        inner: what the bracket makes.
        result: what comes out.
        steps: a text above the second and the third line, what each product costs.
        height: pixels.
    """
    sides = [n for block in (*factors, inner, result) for n in (block.rows, block.columns)]
    longest = log2(max(sides) + 1)
    fig = figure([], height=height)
    remaining = factors[2 - 2 * first]
    second = [(inner, first + 0.5), (remaining, 2 - 2 * first)]
    lines = [[(block, x) for x, block in enumerate(factors)], second, [(result, 1)]]
    for line, blocks in enumerate(lines):
        for block, x in blocks:
            _box(fig, block, x, line, longest)
    _bracket(fig, first)
    for line, text in enumerate(steps, start=1):
        _step(fig, line, text)
    hidden = {"visible": False, "fixedrange": True}
    fig.update_xaxes(range=[-0.55, 2.55], **hidden)
    fig.update_yaxes(range=[2.5, -0.5], **hidden)
    fig.update_layout(margin={"l": 0, "r": 0, "t": 0, "b": 0})
    fig.add_scatter(x=[None], y=[None], hoverinfo="skip", showlegend=False)
    return fig


def _step(fig: go.Figure, line: int, text: str) -> None:
    """What stands above a line."""
    place = {"x": 1, "y": line - 0.43, "name": f"step {line}"}
    fig.add_annotation(text=text, showarrow=False, font={"size": STRESSED}, **place)


def _box(fig: go.Figure, block: Block, x: float, line: int, longest: float) -> None:
    wide, high = (
        LEAST + (MOST - LEAST) * log2(n + 1) / longest for n in (block.columns, block.rows)
    )
    wide = max(wide, _label_pixels(block.label) / PLACE_PIXELS)
    high *= 0.55  # leaves room for the sizes below and the step above
    middle = line - 0.06
    red, green, blue = (int(COLOURS[block.role][i : i + 2], 16) for i in (1, 3, 5))
    fig.add_shape(
        type="rect",
        x0=x - wide / 2,
        x1=x + wide / 2,
        y0=middle - high / 2,
        y1=middle + high / 2,
        line={"color": COLOURS[block.role], "width": LINE_WIDTH},
        fillcolor=f"rgba({red},{green},{blue},0.2)",
        name=block.label,
    )
    text = {"showarrow": False, "font": {"size": FONT_SIZE}, "x": x}
    fig.add_annotation(y=middle, text=f"<b>{block.label}</b>", **text)
    size = f"{block.rows:,} × {block.columns:,}"
    fig.add_annotation(y=middle + MOST * 0.55 / 2 + 0.09, text=size, **text)


def _label_pixels(label: str) -> float:
    """About the width of a label: what is raised or lowered is smaller, tags take none."""
    small = "".join(re.findall("<su[bp]>(.*?)</su[bp]>", label))
    whole = re.sub("<.*?>", "", label)
    return 10 * (len(whole) - len(small)) + 7 * len(small) + 16


def _bracket(fig: go.Figure, first: int) -> None:
    """A pair of brackets around two neighbouring places of the first line."""
    top, bottom = -0.4, 0.36
    for edge, inwards in ((first - 0.47, 0.09), (first + 1.47, -0.09)):
        inner = edge + inwards
        fig.add_shape(
            type="path",
            path=f"M{inner},{top} L{edge},{top} L{edge},{bottom} L{inner},{bottom}",
            line={"color": COLOURS["output"], "width": BRACKET_WIDTH},
            name="bracket",
        )
