"""Singular values, falling, on a logarithmic axis, with the rank that is kept or found."""

from collections.abc import Mapping

import numpy as np

from mla_engine.figures.ends import named_lines
from mla_engine.figures.figure import Figure, titled
from mla_engine.figures.looks import look
from mla_engine.figures.theme import FONT, line, upright

HEIGHT = 380
ROLES = ("latent", "key", "value", "query")
DECADES = 20  # below the largest; what is smaller is rounding


def spectrum(
    values: Mapping[str, np.ndarray],
    *,
    at: int | None = None,
    at_name: str = "",
    axes: tuple[str, str] = ("number", "singular value"),
    decades: int = DECADES,
    height: int = HEIGHT,
) -> Figure:
    """Lines of falling values over their number, counted from 1.

    Args:
        values: name -> values [n], falling.
        at: a number to mark by an upright line.
        at_name: what stands beside that line.
        axes: titles of the axes of numbers and of values.
        decades: how far below the largest value the axis reaches at most.
        height: pixels.
    """
    hover = f"{axes[0]} %{{x:,}}<br>%{{y:.4g}}"
    looks = dict(zip(values, map(look, ROLES), strict=False))
    traces = [
        line(np.arange(1, len(falling) + 1), falling, name, looks[name], hover)
        for name, falling in values.items()
    ]
    most, least = _ends(values, decades)
    longest = max(len(falling) for falling in values.values())
    across = {"range": [0, longest + 1], "nticks": 5, "tickformat": ",", "tickangle": 0}
    ends = [float(np.log10(least) - 0.15), float(np.log10(most) + 0.3)]
    x = titled(axes[0]) | across | {"fixedrange": True}
    y = titled(axes[1]) | {"type": "log", "range": ends, "fixedrange": True} | _ticks(most, least)
    notes = [] if at is None else [_mark(at, at_name, "right" if at > longest / 2 else "left")]
    named = looks if len(looks) > 1 else {}
    options = {"notes": notes, "shapes": upright(at, layer=None)}
    return named_lines(traces, named, x, y, height=height, **options)


def _ends(values: Mapping[str, np.ndarray], decades: int) -> tuple[float, float]:
    """The largest value, and the least that is at most so many decades below."""
    drawn = np.concatenate([np.asarray(falling, dtype=np.float64) for falling in values.values()])
    most = float(drawn.max()) or 1.0
    return most, float(drawn[drawn > most * 10.0**-decades].min(initial=most))


def _ticks(most: float, least: float) -> dict[str, object]:
    """Powers of ten; within two decades 1, 2 and 5 of each, written out and of one size."""
    if most / least >= 100:
        return {"dtick": 1 if most / least < 1e6 else None, "exponentformat": "power"}
    powers = range(int(np.floor(np.log10(least))) - 1, int(np.ceil(np.log10(most))) + 1)
    values = [lead * 10.0**power for power in powers for lead in (1, 2, 5)]
    return {"tickvals": values, "ticktext": [f"{value:g}" for value in values]}


def _mark(at: int, name: str, side: str) -> dict:
    """What stands beside the upright line."""
    return {
        "x": at,
        "y": 1,
        "yref": "paper",
        "text": name,
        "showarrow": False,
        "xanchor": side,
        "xshift": -8 if side == "right" else 8,
        "yanchor": "top",
        "font": FONT,
    }
