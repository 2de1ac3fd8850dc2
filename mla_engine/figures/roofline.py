"""A device's roofline, and calls under it by their arithmetic intensity."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.looks import Role, look
from mla_engine.figures.theme import FONT_SIZE, MASKED, figure, legend_above

HEIGHT = 520
LEGEND_HEIGHT = 96
TERA = 1e12
INTENSITIES = (0.1, 1e4)  # FLOP per byte, the ends of the x axis unless a call is beyond them
MOST_TICKS = 6  # that a phone has room for
ROOF = "#7F858D"


def roofline(
    rates: tuple[float, float],
    calls: Mapping[str, tuple[float, float]],
    *,
    roles: Sequence[Role] | None = None,
    measured: Mapping[str, tuple[float, float]] | None = None,
    titles: tuple[str, str] = ("FLOP per byte", "TFLOP/s"),
    ridge: str = "",
    below: str = "",
    height: int = HEIGHT,
) -> go.Figure:
    """The roof min(peak, bandwidth x intensity) with a mark for each call, both axes logarithmic.

    Args:
        rates: peak FLOP/s and peak byte/s of the device.
        calls: name -> (FLOP per byte, FLOP/s), in the order of the legend.
        roles: what picks each call's looks, a variant's code or a number.
        measured: the same of calls that were timed; hollow marks.
        titles: of the axes.
        ridge: what is written at the ridge.
        below: the word for what was measured, for the hover text.
        height: pixels.
    """
    peak, bandwidth = rates
    low, high = _ends(calls)
    corner = min(max(peak / bandwidth, low), high)
    traces = [_roof(rates, (low, corner, high))]
    for (name, place), role in zip(calls.items(), roles or range(len(calls)), strict=True):
        style = {"color": look(role).colour, "symbol": look(role).mark, "size": 17}
        traces.append(_mark(name, place, style, titles))
        if measured and name in measured:
            hollow = style | {"symbol": f"{look(role).mark}-open", "line": {"width": 3}}
            traces.append(_mark(f"{name}, {below}", measured[name], hollow, titles, listed=False))
    fig = figure(traces, height=height)
    _ridge(fig, corner, ridge)
    _axes(fig, peak, bandwidth, (low, high), titles)
    return fig


def _roof(rates: tuple[float, float], corners: tuple[float, float, float]) -> go.Scatter:
    peak, bandwidth = rates
    intensity = np.array(corners)
    return go.Scatter(
        x=intensity,
        y=np.minimum(peak, bandwidth * intensity) / TERA,
        mode="lines",
        line={"color": ROOF, "width": 5},
        showlegend=False,
        hoverinfo="skip",
    )


def _ridge(fig: go.Figure, intensity: float, text: str) -> None:
    """An upright line where the roof turns, and what is written beside it."""
    fig.add_vline(x=intensity, line={"color": MASKED, "dash": "dot", "width": 2}, layer="below")
    fig.add_annotation(
        x=np.log10(intensity),
        y=0.02,
        yref="paper",
        text=text,
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
        xshift=6,
        font={"size": FONT_SIZE},
    )


def _ends(calls: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """The ends of the x axis: fixed, but by whole decades further where a call would be lost."""
    low, high = INTENSITIES
    most = max((intensity for intensity, _ in calls.values()), default=low)
    return low, max(high, 10.0 ** np.ceil(np.log10(1.5 * most)))


def _mark(
    name: str,
    place: tuple[float, float],
    style: Mapping[str, object],
    titles: tuple[str, str],
    *,
    listed: bool = True,
) -> go.Scatter:
    """One call; `listed` gives it an entry in the legend."""
    intensity, rate = place
    return go.Scatter(
        x=[intensity],
        y=[rate / TERA],
        name=name,
        mode="markers",
        marker=dict(style),
        showlegend=listed,
        hovertemplate=f"{name}<br>{titles[0]} %{{x:,.4g}}<br>{titles[1]} %{{y:,.4g}}"
        "<extra></extra>",
    )


def _axes(
    fig: go.Figure,
    peak: float,
    bandwidth: float,
    ends: tuple[float, float],
    titles: tuple[str, str],
) -> None:
    axis = {"type": "log", "fixedrange": True, "dtick": 1, "tickformat": ",.9~g"}
    axis["exponentformat"] = "none"
    low, high = np.log10(ends)
    bottom, top = np.log10(bandwidth * INTENSITIES[0] / TERA / 10), np.log10(peak / TERA * 2)
    fig.update_xaxes(title_text=titles[0], range=[low, high], **axis)
    if high - low >= MOST_TICKS:
        fig.update_xaxes(dtick=2)
    fig.update_yaxes(title_text=titles[1], range=[bottom, top], **axis)
    fig.update_layout(hovermode="closest")
    legend_above(fig, height=LEGEND_HEIGHT, entry_width=178)
