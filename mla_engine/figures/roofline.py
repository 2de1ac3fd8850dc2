"""A device's roofline, and calls under it by their arithmetic intensity."""

from collections.abc import Mapping, Sequence

import numpy as np

from mla_engine.figures.figure import Figure, figure, titled
from mla_engine.figures.looks import Role, look
from mla_engine.figures.theme import FONT, legend_above, upright

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
) -> Figure:
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
    x, y = _axes(peak, bandwidth, (low, high), titles)
    options = {"shapes": upright(corner, width=2), "annotations": [_ridge(corner, ridge)]}
    options |= legend_above(height=LEGEND_HEIGHT, entry_width=178)
    return figure(traces, height=height, x=x, y=y, hovermode="closest", **options)


def _roof(rates: tuple[float, float], corners: tuple[float, float, float]) -> dict:
    peak, bandwidth = rates
    intensity = np.array(corners)
    return {
        "type": "scatter",
        "x": intensity,
        "y": np.minimum(peak, bandwidth * intensity) / TERA,
        "mode": "lines",
        "line": {"color": ROOF, "width": 5},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _ridge(intensity: float, text: str) -> dict:
    """What is written beside the upright line where the roof turns."""
    return {
        "x": np.log10(intensity),
        "y": 0.02,
        "yref": "paper",
        "text": text,
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "xshift": 6,
        "font": FONT,
    }


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
) -> dict:
    """One call; `listed` gives it an entry in the legend."""
    intensity, rate = place
    return {
        "type": "scatter",
        "x": [intensity],
        "y": [rate / TERA],
        "name": name,
        "mode": "markers",
        "marker": style,
        "showlegend": listed,
        "hovertemplate": f"{name}<br>{titles[0]} %{{x:,.4g}}<br>{titles[1]} %{{y:,.4g}}"
        "<extra></extra>",
    }


def _axes(
    peak: float, bandwidth: float, ends: tuple[float, float], titles: tuple[str, str]
) -> tuple[dict, dict]:
    axis = {"type": "log", "fixedrange": True, "dtick": 1, "tickformat": ",.9~g"}
    axis["exponentformat"] = "none"
    low, high = np.log10(ends).tolist()
    bottom, top = np.log10(bandwidth * INTENSITIES[0] / TERA / 10), np.log10(peak / TERA * 2)
    across = {"range": [low, high], "dtick": 2 if high - low >= MOST_TICKS else 1}
    up = {"range": [float(bottom), float(top)]}
    return titled(titles[0]) | axis | across, titled(titles[1]) | axis | up
