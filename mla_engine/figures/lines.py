"""Lines over whole numbers: bytes of a cache over the context, a change over the distance."""

from collections.abc import Mapping, Sequence

import numpy as np

from kvcount.refusals import RefusedError
from mla_engine.figures.ends import named_lines
from mla_engine.figures.figure import Figure, titled
from mla_engine.figures.looks import Look, Role, look
from mla_engine.figures.placed import amounts_axis, placed, span
from mla_engine.figures.theme import (
    FONT,
    MASKED,
    WORDS,
    few_ticks,
    line,
    shaded,
    ticks_at,
    upright,
)

HEIGHT, CURVES_HEIGHT = 520, 460
ROLES = ("input", "rope")  # of curves: without the rotation, and with it
DASHES = ("solid", "dot")  # of levels
UNITS: Mapping[str, int] = {
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}


def cache_growth(
    contexts: Sequence[int],
    curves: Mapping[str, np.ndarray],
    *,
    roles: Sequence[Role] | None = None,
    points: Mapping[str, tuple[Sequence[int], Sequence[int]]] | None = None,
    log: bool = True,
    unit: str = "GiB",
    limits: tuple[float, float] | None = None,
    at: int | None = None,
    ticks: Sequence[int] | None = None,
    levels: Mapping[str, float] | None = None,
    height: int = HEIGHT,
    words: Mapping[str, str] = WORDS,
) -> Figure:
    """Draw the bytes [context] of each curve over the context length.

    Args:
        contexts: tokens, ascending; above 0 on logarithmic axes.
        curves: name -> bytes at each context; a name stands at its curve's end.
        roles: what picks each curve's looks, a variant's code or a number.
        points: name -> (contexts, bytes) measured on real caches, drawn in the curve's colour.
        log: both axes logarithmic.
        unit: one of UNITS, or refused; shown in the axis title.
        limits: lowest and highest bytes of the y axis, for charts to be compared.
        at: a context length to mark by an upright line.
        ticks: the places of x to print, and no others.
        levels: name -> bytes of a line across, above 0; up to two.
        height: pixels.
        words: what the figure says, in the reader's language.
    """
    if unit not in UNITS:
        raise RefusedError("choice", name="unit", value=unit, listed=", ".join(UNITS))
    looks = dict(zip(curves, map(look, roles or range(len(curves))), strict=True))
    traces = _traces(contexts, curves, points or {}, unit, words, looks)
    traces += _levels(levels or {}, contexts, unit)
    every = np.concatenate([placed(curve) for curve in curves.values()])
    x, y = _axes(log, unit, span(limits, every, log=log), words)
    x |= _context_range(contexts, log) | (ticks_at(ticks) if ticks else {})
    shapes = upright(at, width=2)
    return named_lines(traces, looks, x, y, height=height, shapes=shapes, hovermode="closest")


def _traces(
    contexts: Sequence[int],
    curves: Mapping[str, np.ndarray],
    measured: Mapping[str, tuple[Sequence[int], Sequence[int]]],
    unit: str,
    words: Mapping[str, str],
    looks: Mapping[str, Look],
) -> list[dict]:
    traces = []
    for name, sizes in curves.items():
        its, hover = looks[name], f"{words['context']} %{{x:,}}<br>%{{y:,.4g}} {unit}"
        drawn = line(contexts, np.asarray(sizes, dtype=np.float64) / UNITS[unit], name, its, hover)
        traces.append(drawn)
        if name in measured:
            lengths, found = measured[name]
            dots = {
                "type": "scatter",
                "x": np.asarray(lengths),
                "y": np.asarray(found, dtype=np.float64) / UNITS[unit],
                "name": words["of_measured"].format(name=name),
                "mode": "markers",
                "marker": {"color": its.colour, "symbol": its.mark, "size": 13},
                "cliponaxis": False,
                "hovertemplate": f"{words['measured']}<br>{drawn['hovertemplate']}",
            }
            traces.append(dots)
    return traces


def _context_range(contexts: Sequence[int], log: bool) -> dict:
    """Return a range from a little before the first length to the last, with round ticks."""
    first, last = float(contexts[0]), float(contexts[-1])
    if not log:
        return {"range": [first, last], "nticks": 4}
    step = 2 if last > 1e4 * first else 1  # side by side they would run into one another
    tens = [10**power for power in range(0, 10, step)]
    short = [f"{n // 10**6:,}M" if n >= 10**6 else f"{n // 1000}k" for n in tens]
    texts = [f"{n}" if n < 1000 else text for n, text in zip(tens, short, strict=True)]
    ticks = {"tickvals": tens, "ticktext": texts, "tickangle": 0}
    return ticks | {"range": np.log10((0.7 * first, last)).tolist()}


def _axes(
    log: bool, unit: str, limits: tuple[float, float], words: Mapping[str, str]
) -> tuple[dict, dict]:
    kind = "log" if log else "linear"
    # Only powers of ten: a decade's other ticks would print 2 and 5 without their decade.
    axis = {"type": kind, "fixedrange": True, "dtick": 1 if log else None, "tickformat": ",.9~g"}
    ends = np.asarray(limits, dtype=np.float64) / UNITS[unit]
    up = axis | {"range": (np.log10(ends) if log else ends).tolist()}
    held = words["in_unit"].format(name=words["cache"], unit=unit)
    return titled(words["context"]) | axis, titled(held) | up


def _levels(levels: Mapping[str, float], contexts: Sequence[int], unit: str) -> list[dict]:
    """Return a line for each amount of bytes, its name at the left end."""
    return [
        _level(name, n_bytes / UNITS[unit], (contexts[0], contexts[-1]), dash, unit)
        for (name, n_bytes), dash in zip(levels.items(), DASHES, strict=False)
    ]


def _level(name: str, height: float, ends: tuple[int, int], dash: str, unit: str) -> dict:
    return {
        "type": "scatter",
        "x": list(ends),
        "y": [height, height],
        "mode": "lines+text",
        "name": name,
        "text": [name, ""],
        "textposition": "top right",
        "textfont": FONT,
        "line": {"color": MASKED, "dash": dash, "width": 3},
        "hovertemplate": f"{name}<br>{height:,.4g} {unit}<extra></extra>",
        "showlegend": False,
    }


def curves(
    x: Sequence[int],
    lines: Mapping[str, np.ndarray],
    *,
    titles: tuple[str, str],
    log: bool = False,
    band: tuple[float, float] | None = None,
    at: int | None = None,
    height: int = CURVES_HEIGHT,
) -> Figure:
    """Draw each line's numbers [len(x)] over x.

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
    hover = f"{titles[0]} %{{x}}<br>%{{y:.4g}}"
    dotted = {"mode": "lines+markers", "cliponaxis": False}
    traces = [
        line(x, numbers, name, looks[name], hover)
        | dotted
        | {"marker": {"symbol": looks[name].mark, "size": 8}}
        for name, numbers in lines.items()
    ]
    first, last = float(x[0]), float(x[-1])
    space = 0.02 * (last - first) or 0.5
    across = {"range": [first - space, last], "nticks": few_ticks(last), "tickangle": 0}
    up = amounts_axis(np.concatenate(list(lines.values())), log=log)
    shapes = ([shaded(*band, 0.25)] if band else []) + upright(at)
    axes = (
        titled(titles[0]) | across | {"fixedrange": True},
        titled(titles[1]) | up | {"fixedrange": True, "exponentformat": "power"},
    )
    return named_lines(traces, looks, *axes, height=height, shapes=shapes)
