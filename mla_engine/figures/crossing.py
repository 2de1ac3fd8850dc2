"""Two amounts over a number that doubles, and where they cross."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.theme import FONT_SIZE, MASKED, figure, legend_above, line

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
    roles: tuple[str, str] = ("latent", "key"),
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
        roles: what picks the colour of each line.
        height: pixels.
    """
    hover = f"{titles[0]} %{{x:,}}<br>{titles[1]} %{{y:,.4g}}"
    dashes = zip(lines.items(), roles, ("solid", "dash"), strict=True)
    traces = [line(x, y, name, role, dash, hover) for (name, y), role, dash in dashes]
    fig = figure(traces + ([_ring(cross, label)] if cross else []), height=height)
    if here is not None:
        fig.add_vline(x=here, line={"color": MASKED, "dash": "dot", "width": 3}, layer="below")
    axis = {"type": "log", "fixedrange": True, "dtick": 1}
    fig.update_xaxes(title_text=titles[0], tickformat=",~g", exponentformat="none", **axis)
    fig.update_yaxes(title_text=titles[1], exponentformat="power", **axis)
    fig.update_layout(hovermode="closest")
    legend_above(fig)
    return fig


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
