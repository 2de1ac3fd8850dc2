"""Amounts over a number that doubles, and where they cross."""

from collections.abc import Mapping, Sequence
from math import log10

import numpy as np

from mla_engine.figures.ends import named_lines
from mla_engine.figures.figure import Figure, titled
from mla_engine.figures.looks import Role, look
from mla_engine.figures.theme import FONT, line, upright

HEIGHT = 420
INK = "#7F858D"
SHORT = 1e-3, 1e4  # amounts between these are written out
LETTER, NARROW = 9, 420  # pixels: of a letter of a label, of the plot on a narrow screen
FEW, MILLION = 1.8, 1e6  # decades of an axis; the number from which on it is written in short


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
    height: int = HEIGHT,
) -> Figure:
    """Lines [len(x)] over x on logarithmic axes.

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
    across, up = _axes(titles, np.asarray(x), np.concatenate(list(lines.values())))
    reached = cross and x[0] <= cross[0] <= x[-1]
    traces += [_ring(cross, label, across["range"])] if reached else []
    options = {"shapes": upright(here), "hovermode": "closest", "beside": beside}
    return named_lines(traces, looks, across, up, height=height, **options)


def _axes(titles: tuple[str, str], x: np.ndarray, drawn: np.ndarray) -> tuple[dict, dict]:
    least, most = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    across = _axis(titles[0], (x[0] / 1.15, x[-1]))
    up = _axis(titles[1], (least / 1.6, most * 1.6))
    if not (least > SHORT[0] and most < SHORT[1]) and up["dtick"] == 1:
        up |= {"tickformat": "", "exponentformat": "power"}
    return across, up


def _axis(title: str, ends: tuple[float, float]) -> dict:
    """Decades, and 2 and 5 times them where they are few; from a million on in short."""
    low, high = np.log10(ends).tolist()
    ticks = {"tickformat": "~s" if ends[1] >= MILLION else ",~g", "exponentformat": "none"}
    ticks |= {"dtick": 1 if high - low > FEW else "D2"}
    return titled(title) | {"type": "log", "fixedrange": True, "range": [low, high]} | ticks


def _ring(place: tuple[float, float], label: str, ends: Sequence[float]) -> dict:
    """Around the place where the lines cross; a label that would be cut stands left above it."""
    beyond = (ends[1] - log10(place[0])) / (ends[1] - ends[0])
    cut = LETTER * len(label) > NARROW * beyond
    return {
        "type": "scatter",
        "x": [place[0]],
        "y": [place[1]],
        "mode": "markers+text",
        "marker": {"symbol": "circle-open", "size": 20, "color": INK, "line": {"width": 4}},
        "text": [f"<b>{label}</b>"],
        "textposition": "top left" if cut else "bottom right",
        "textfont": FONT,
        "showlegend": False,
        "hoverinfo": "skip",
    }
