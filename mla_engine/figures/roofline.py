"""Rooflines, and amounts over a number that doubles with the place where they cross."""

from collections.abc import Mapping, Sequence
from math import log10

import numpy as np

from mla_engine.figures.ends import named_lines
from mla_engine.figures.figure import Figure, figure, titled
from mla_engine.figures.looks import Role, look
from mla_engine.figures.placed import ends, note, placed, written
from mla_engine.figures.theme import FONT, legend_above, line, upright

HEIGHT, CROSSING_HEIGHT = 520, 420
SHORT = 1e-3, 1e4  # amounts between these are written out
LETTER, NARROW = 9, 420  # pixels: of a letter of a label, of the plot on a narrow screen
FEW, MILLION = 1.8, 1e6  # decades of an axis; the number from which on it is written in short
LEGEND_HEIGHT = 96
TERA = 1e12
INTENSITIES = (0.1, 1e4)  # FLOP per byte, the ends of the x axis unless a call is beyond them
MOST_TICKS = 6  # that a phone has room for
ROOF = "#7F858D"
NOWHERE: Mapping = {}


def roofline(
    rates: tuple[float, float],
    calls: Mapping[str, tuple[float, float]],
    *,
    roles: Sequence[Role] | None = None,
    measured: Mapping[str, tuple[float, float]] | None = None,
    along: Mapping[str, Mapping[int, tuple[float, float]]] = NOWHERE,
    titles: tuple[str, str] = ("FLOP per byte", "TFLOP/s"),
    ridge: str = "",
    below: str = "{name}",
    height: int = HEIGHT,
) -> Figure:
    """Draw the roof min(peak, bandwidth x intensity), and a mark for each call, on log axes.

    Args:
        rates: peak FLOP/s and peak byte/s of the device.
        calls: name -> (FLOP per byte, FLOP/s), in the order of the legend.
        roles: what picks each call's looks, a variant's code or a number.
        measured: the same of calls that were timed; hollow marks.
        along: where each call's mark goes with a slider, by the slider's places.
        titles: of the axes.
        ridge: what is written at the ridge.
        below: what a measured one is called, for the hover text; {name} is the call.
        height: pixels.
    """
    peak, bandwidth = rates
    low, high = _ends(calls)
    corner = min(max(peak / bandwidth, low), high)
    traces = [_roof(rates, (low, corner, high))]
    for (name, place), role in zip(calls.items(), roles or range(len(calls)), strict=True):
        style = {"color": look(role).colour, "symbol": look(role).mark, "size": 17}
        moves = {str(n): [x, rate / TERA] for n, (x, rate) in along.get(name, NOWHERE).items()}
        traces.append(_mark(name, place, style, titles) | {"meta": moves or None})
        if measured and name in measured:
            hollow = style | {"symbol": f"{look(role).mark}-open", "line": {"width": 3}}
            called = below.format(name=name)
            traces.append(_mark(called, measured[name], hollow, titles, listed=False))
    x, y = _axes(peak, bandwidth, (low, high), titles)
    stays = [line | {"name": "ridge"} for line in upright(corner, width=2)]
    lost = [_lost(place, x["range"], y["range"]) for place in calls.values() if not _drawn(place)]
    options = {"shapes": stays, "annotations": [_ridge(corner, ridge), *lost]}
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
    """Return the note beside the upright line where the roof bends."""
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
    """Return the ends of the x axis: fixed, but whole decades further if a call would be lost."""
    low, high = INTENSITIES
    _, most = ends([intensity for intensity, _ in calls.values()], log=True)
    return low, max(high, 10.0 ** np.ceil(np.log10(1.5 * most)))


def _mark(
    name: str,
    place: tuple[float, float],
    style: Mapping[str, object],
    titles: tuple[str, str],
    *,
    listed: bool = True,
) -> dict:
    """Return one call; `listed` gives it an entry in the legend."""
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


def _drawn(place: tuple[float, float]) -> bool:
    return bool(np.isfinite(placed(place, log=True)).all())


def _lost(place: tuple[float, float], x: Sequence[float], y: Sequence[float]) -> dict:
    """Return a note of a call that has no place, where it would be if the axes reached there."""
    at = [
        float(np.log10(one) if _drawn((one, one)) else ends[int(one == np.inf)])
        for one, ends in zip((place[0], place[1] / TERA), (x, y), strict=True)
    ]
    says = next(one for one in reversed(place) if not _drawn((one, one)))
    return note(at[0], (at[1], at[1]), written(says)) | {"xanchor": "left"}


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


def crossing(
    x: Sequence[int],
    lines: Mapping[str, np.ndarray],
    *,
    titles: tuple[str, str],
    cross: tuple[float, float] | None = None,
    label: str = "",
    here: int | None = None,
    roles: Sequence[Role] = ("mla_absorbed", "mla_each"),
    beside: bool = False,
    height: int = CROSSING_HEIGHT,
) -> Figure:
    """Draw lines [len(x)] over x on logarithmic axes.

    Args:
        x: ascending, above 0.
        lines: name -> numbers above 0, NaN where a line has none.
        titles: of the axes.
        cross: where they cross, marked by a ring if x reaches there; None if they do not.
        label: what stands beside the ring.
        here: the reader's own x, an upright line.
        roles: what picks the looks of each line.
        beside: all names beside the plot, also of lines that end within it.
        height: pixels.
    """
    hover = f"{titles[0]} %{{x:,}}<br>{titles[1]} %{{y:,.4g}}"
    looks = dict(zip(lines, map(look, roles), strict=True))
    traces = [line(x, y, name, looks[name], hover) for name, y in lines.items()]
    across, up = _crossing_axes(titles, np.asarray(x), np.concatenate(list(lines.values())))
    reached = cross and x[0] <= cross[0] <= x[-1]
    traces += [_ring(cross, label, across["range"])] if reached else []
    options = {"shapes": upright(here), "hovermode": "closest", "beside": beside}
    return named_lines(traces, looks, across, up, height=height, **options)


def _crossing_axes(titles: tuple[str, str], x: np.ndarray, drawn: np.ndarray) -> tuple[dict, dict]:
    least, most = ends(drawn, log=True)
    across = _axis(titles[0], (x[0] / 1.15, x[-1]))
    up = _axis(titles[1], (least / 1.6, most * 1.6))
    if not (least > SHORT[0] and most < SHORT[1]) and up["dtick"] == 1:
        up |= {"tickformat": "", "exponentformat": "power"}
    return across, up


def _axis(title: str, ends: tuple[float, float]) -> dict:
    """Return an axis of decades, with 2 and 5 times them where they are few; millions in short."""
    low, high = np.log10(ends).tolist()
    ticks = {"tickformat": "~s" if ends[1] >= MILLION else ",~g", "exponentformat": "none"}
    ticks |= {"dtick": 1 if high - low > FEW else "D2"}
    return titled(title) | {"type": "log", "fixedrange": True, "range": [low, high]} | ticks


def _ring(place: tuple[float, float], label: str, ends: Sequence[float]) -> dict:
    """Return a ring where the lines cross; a label that would be cut stands left above it."""
    beyond = (ends[1] - log10(place[0])) / (ends[1] - ends[0])
    cut = LETTER * len(label) > NARROW * beyond
    return {
        "type": "scatter",
        "x": [place[0]],
        "y": [place[1]],
        "mode": "markers+text",
        "marker": {"symbol": "circle-open", "size": 20, "color": ROOF, "line": {"width": 4}},
        "text": [f"<b>{label}</b>"],
        "textposition": "top left" if cut else "bottom right",
        "textfont": FONT,
        "showlegend": False,
        "hoverinfo": "skip",
    }
