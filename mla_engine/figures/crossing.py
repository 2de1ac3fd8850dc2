"""Two amounts over a number that doubles, and where they cross."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.ends import name_ends
from mla_engine.figures.looks import Role, look
from mla_engine.figures.theme import FONT_SIZE, MASKED, figure, line

HEIGHT = 420
INK = "#7F858D"


def crossing(
    x: Sequence[int],
    lines: Mapping[str, np.ndarray],
    *,
    titles: tuple[str, str],
    cross: tuple[float, float] | None = None,
    label: str = "",
    here: int | None = None,
    roles: tuple[Role, Role] = ("mla_absorbed", "mla_each"),
    height: int = HEIGHT,
) -> go.Figure:
    """Two lines [len(x)] over x on logarithmic axes.

    Args:
        x: ascending, above 0.
        lines: name -> numbers above 0, two of them.
        titles: of the axes.
        cross: where they cross, marked by a ring; None if they do not.
        label: what stands beside the ring.
        here: the reader's own x, an upright line.
        roles: what picks the looks of each line.
        height: pixels.
    """
    hover = f"{titles[0]} %{{x:,}}<br>{titles[1]} %{{y:,.4g}}"
    looks = dict(zip(lines, map(look, roles), strict=True))
    traces = [line(x, y, name, looks[name], hover) for name, y in lines.items()]
    fig = figure(traces + ([_ring(cross, label)] if cross else []), height=height)
    if here is not None:
        fig.add_vline(x=here, line={"color": MASKED, "dash": "dot", "width": 3}, layer="below")
    _axes(fig, titles, np.asarray(x), np.concatenate(list(lines.values())))
    return name_ends(fig, looks)


def _axes(fig: go.Figure, titles: tuple[str, str], x: np.ndarray, drawn: np.ndarray) -> None:
    axis = {"type": "log", "fixedrange": True, "dtick": 1}
    across, up = np.log10((x[0] / 1.15, x[-1])), np.log10((drawn.min() / 1.6, drawn.max() * 1.6))
    thousands = {"tickformat": ",~g", "exponentformat": "none"}
    fig.update_xaxes(title_text=titles[0], range=list(across), **thousands, **axis)
    fig.update_yaxes(title_text=titles[1], range=list(up), exponentformat="power", **axis)
    fig.update_layout(hovermode="closest")


def _ring(place: tuple[float, float], label: str) -> go.Scatter:
    """Around the place where the lines cross."""
    return go.Scatter(
        x=[place[0]],
        y=[place[1]],
        mode="markers+text",
        marker={"symbol": "circle-open", "size": 20, "color": INK, "line": {"width": 4}},
        text=[f"<b>{label}</b>"],
        textposition="bottom right",
        textfont={"size": FONT_SIZE},
        showlegend=False,
        hoverinfo="skip",
    )
