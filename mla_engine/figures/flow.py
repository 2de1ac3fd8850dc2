"""The data flow of one attention layer: a box for each tensor, an arrow for each input.

The picture runs from top to bottom: four boxes side by side stay readable on a phone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mla_engine.figures.figure import Figure, figure
from mla_engine.figures.layout import Edge, Layout, arrange
from mla_engine.figures.looks import COLOURS
from mla_engine.figures.theme import FONT, WORDS

LAYER_HEIGHT = 70  # pixels: two lines of text and room for an arrow
BOX_WIDTH = 0.95  # of a place
BOX_HEIGHT = 0.62  # of a layer
CACHED_MARK = "▣ "
CACHED_WIDTH = 5
PLAIN_WIDTH = 2
HEAD_SIZE = 13
HEAD_HEIGHT = HEAD_SIZE / LAYER_HEIGHT  # its tip touches the box and does not cover it


@dataclass(frozen=True)
class FlowNode:
    """One box: `label` in Plotly's text (see `symbol_html`), `shape` as text, role picks colour."""

    code: str
    label: str
    shape: str
    role: str
    cached: bool = False
    meaning: str = ""


def data_flow(
    nodes: Sequence[FlowNode], edges: Sequence[Edge], *, words: Mapping[str, str] = WORDS
) -> Figure:
    """Draw boxes in order of computation, arrows from each input to what reads it.

    Args:
        nodes: each after all the nodes it reads.
        edges: (from, to) pairs of codes.
        words: what the figure says, in the reader's language.

    Raises:
        ValueError: an edge names no node, or runs backwards.
    """
    layout = arrange([node.code for node in nodes], edges)
    hidden = {"visible": False, "fixedrange": True}
    return figure(
        [_arrows(layout), *_texts(nodes, layout, words)],
        height=_height(layout),
        x=hidden | {"range": [0, layout.width]},
        y=hidden | {"range": [layout.depth, -0.5]},
        margin={"l": 0, "r": 0},
        shapes=[_box(node, *layout.places[node.code]) for node in nodes],
        showlegend=False,
        hovermode="closest",
    )


def _height(layout: Layout) -> int:
    return (layout.depth * 2 + 1) * LAYER_HEIGHT // 2 + 16


def _box(node: FlowNode, x: float, depth: int) -> dict:
    colour = COLOURS[node.role]
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return {
        "type": "rect",
        "x0": x - BOX_WIDTH / 2,
        "x1": x + BOX_WIDTH / 2,
        "y0": depth - BOX_HEIGHT / 2,
        "y1": depth + BOX_HEIGHT / 2,
        "line": {"color": colour, "width": CACHED_WIDTH if node.cached else PLAIN_WIDTH},
        "fillcolor": f"rgba({red},{green},{blue},0.16)",
        "layer": "below",
        "name": node.code,
    }


def _texts(nodes: Sequence[FlowNode], layout: Layout, words: Mapping[str, str]) -> list[dict]:
    """Write symbol over shape in each box, and the key to the mark of those that are cached."""
    places = [layout.places[node.code] for node in nodes]
    boxes = {
        "type": "scatter",
        "x": [x for x, _ in places],
        "y": [depth for _, depth in places],
        "mode": "text",
        "text": [
            f"<b>{CACHED_MARK if node.cached else ''}{node.label}</b><br>{node.shape}"
            for node in nodes
        ],
        "textfont": FONT,
        "hovertext": [node.meaning or node.label for node in nodes],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "customdata": [node.code for node in nodes],
    }
    key = {
        "type": "scatter",
        "x": [0.0],
        "y": [layout.depth - 1 + (BOX_HEIGHT + 1) / 2],  # below all boxes, so never over one
        "mode": "text",
        "text": [f"<b>{CACHED_MARK}</b>{words['cached']}" if any(n.cached for n in nodes) else ""],
        "textposition": "middle right",
        "textfont": FONT,
        "hoverinfo": "skip",
    }
    return [boxes, key]


def _arrows(layout: Layout) -> dict:
    """Return one line for all arrows, broken between them, with a head where each one ends."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    heads: list[int] = []
    for (a, b), lanes in layout.routes.items():
        (x0, top), (x1, bottom) = layout.places[a], layout.places[b]
        route = [(x0, top + BOX_HEIGHT / 2)]
        # Straight down through a lane, as far as the boxes beside it reach.
        for x, depth in lanes:
            route += [(x, depth - BOX_HEIGHT / 2), (x, depth + BOX_HEIGHT / 2)]
        route.append((_landing(x0, x1, lanes), bottom - BOX_HEIGHT / 2 - HEAD_HEIGHT / 2))
        xs += [x for x, _ in route] + [None]
        ys += [y for _, y in route] + [None]
        heads += [0] * (len(route) - 1) + [HEAD_SIZE, 0]
    return {
        "type": "scatter",
        "x": xs,
        "y": ys,
        "mode": "lines+markers",
        "line": {"color": COLOURS["input"], "width": 2},
        "marker": {
            "symbol": "triangle-down",
            "size": heads,
            "color": COLOURS["input"],
            "opacity": 1,
        },
        "hoverinfo": "skip",
    }


def _landing(x0: float, x1: float, lanes: Sequence[tuple[float, int]]) -> float:
    """Return the point where an arrow meets its box: on the side that it comes from."""
    start = lanes[-1][0] if lanes else x0
    reach = BOX_WIDTH * 0.3
    return x1 + max(-reach, min(reach, (start - x1) / 2))
