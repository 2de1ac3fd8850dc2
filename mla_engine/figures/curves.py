"""Lines over whole numbers: frequencies of the pairs, change with the distance."""

from collections.abc import Mapping, Sequence

import numpy as np

from mla_engine.figures.ends import named_lines
from mla_engine.figures.figure import Figure, titled
from mla_engine.figures.looks import Look, look
from mla_engine.figures.theme import MASKED, few_ticks, upright
from mla_engine.refusals import RefusedError

HEIGHT = 460
ROLES = ("input", "rope")  # without the rotation, and with it


def curves(
    x: Sequence[int],
    lines: Mapping[str, np.ndarray],
    *,
    titles: tuple[str, str],
    log: bool = False,
    band: tuple[float, float] | None = None,
    at: int | None = None,
    height: int = HEIGHT,
) -> Figure:
    """Each line's numbers [len(x)] over x.

    Args:
        x: ascending.
        lines: name -> numbers, above 0 where `log`; up to two, in the order of the legend.
        titles: of the axes.
        log: the y axis is logarithmic.
        band: a stretch of x to shade.
        at: a place of x to mark by an upright line.
        height: pixels.

    Raises:
        ValueError: more lines than there are styles.
    """
    if len(lines) > len(ROLES):
        raise RefusedError("line_styles", lines=len(lines), styles=len(ROLES))
    looks = dict(zip(lines, map(look, ROLES), strict=False))
    traces = [_line(x, numbers, name, titles[0], looks[name]) for name, numbers in lines.items()]
    across, up = _axes(titles, np.asarray(x), np.concatenate(list(lines.values())), log=log)
    shapes = ([_shaded(*band)] if band else []) + upright(at)
    return named_lines(traces, looks, across, up, height=height, shapes=shapes)


def _line(x: Sequence[int], numbers: np.ndarray, name: str, title: str, its: Look) -> dict:
    return {
        "type": "scatter",
        "x": np.asarray(x),
        "y": np.asarray(numbers, dtype=np.float64),
        "name": name,
        "mode": "lines+markers",
        "cliponaxis": False,
        "line": {"color": its.colour, "dash": its.dash, "width": 4},
        "marker": {"symbol": its.mark, "size": 8},
        "hovertemplate": f"{name}<br>{title} %{{x}}<br>%{{y:.4g}}<extra></extra>",
    }


def _shaded(first: float, last: float) -> dict:
    """A stretch of x, up the whole plot."""
    place = {"x0": first, "x1": last, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
    look = {"fillcolor": MASKED, "opacity": 0.25, "line": {"width": 0}, "layer": "below"}
    return {"type": "rect"} | place | look


def _axes(
    titles: tuple[str, str], x: np.ndarray, drawn: np.ndarray, *, log: bool
) -> tuple[dict, dict]:
    first, last = float(x[0]), float(x[-1])
    room = 0.02 * float(x[-1] - x[0]) or 0.5
    least, top = float(drawn.min()), float(drawn.max()) or 1.0
    ends = np.log10((least / 1.5, top * 1.5)) if log else np.array([min(0, least), top * 1.05])
    across = {"range": [first - room, last], "nticks": few_ticks(last), "tickangle": 0}
    up = {"type": "log" if log else "linear", "range": ends.tolist(), "dtick": 1 if log else None}
    return (
        titled(titles[0]) | across | {"fixedrange": True},
        titled(titles[1]) | up | {"fixedrange": True, "exponentformat": "power"},
    )
