"""Cache against context length: one line for each way of caching, dots for what was measured."""

from collections.abc import Mapping, Sequence

import numpy as np

from mla_engine.figures.ends import named_lines
from mla_engine.figures.figure import Figure, titled
from mla_engine.figures.looks import Look, Role, look
from mla_engine.figures.theme import FONT, MASKED, WORDS, ticks_at, upright
from mla_engine.refusals import RefusedError

HEIGHT = 520
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
    """Bytes [context] of each curve over the context length.

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
    x, y = _axes(log, unit, limits or _limits(curves, log), words)
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
        hover = f"{name}<br>{words['context']} %{{x:,}}<br>%{{y:,.4g}} {unit}<extra></extra>"
        traces.append(
            _trace(contexts, sizes, unit, name=name, hovertemplate=hover, **_line(looks[name]))
        )
        if name in measured:
            said = {
                "name": f"{name}, {words['measured']}",
                "hovertemplate": f"{words['measured']}<br>{hover}",
            }
            traces.append(_trace(*measured[name], unit, **said, **_dots(looks[name])))
    return traces


def _trace(contexts: Sequence[int], sizes: Sequence[int], unit: str, **options: object) -> dict:
    in_unit = np.asarray(sizes, dtype=np.float64) / UNITS[unit]
    return {"type": "scatter", "x": np.asarray(contexts), "y": in_unit} | options


def _line(its: Look) -> dict:
    return {"mode": "lines", "line": {"color": its.colour, "dash": its.dash, "width": 4}}


def _dots(its: Look) -> dict:
    marker = {"color": its.colour, "symbol": its.mark, "size": 13}
    return {"mode": "markers", "marker": marker, "cliponaxis": False}


def _limits(curves: Mapping[str, np.ndarray], log: bool) -> tuple[float, float]:
    drawn = np.concatenate([np.asarray(curve, dtype=np.float64) for curve in curves.values()])
    return (drawn.min() / 2, drawn.max() * 2) if log else (0, drawn.max() * 1.05)


def _context_range(contexts: Sequence[int], log: bool) -> dict:
    """From a little before the first length to the last; a round number of letters at each tick."""
    ends = np.array([contexts[0], contexts[-1]], dtype=np.float64)
    if not log:
        return {"range": ends.tolist(), "nticks": 4}
    tens = [10**power for power in range(10)]  # in full they would run into one another
    short = [f"{n // 10**6:,}M" if n >= 10**6 else f"{n // 1000}k" for n in tens]
    texts = [f"{n}" if n < 1000 else text for n, text in zip(tens, short, strict=True)]
    ticks = {"tickvals": tens, "ticktext": texts, "tickangle": 0}
    return ticks | {"range": np.log10(ends * (0.7, 1)).tolist()}


def _axes(
    log: bool, unit: str, limits: tuple[float, float], words: Mapping[str, str]
) -> tuple[dict, dict]:
    kind = "log" if log else "linear"
    # Powers of ten alone: a decade's other ticks would print 2 and 5 without their decade.
    axis = {"type": kind, "fixedrange": True, "dtick": 1 if log else None, "tickformat": ",.9~g"}
    ends = np.asarray(limits, dtype=np.float64) / UNITS[unit]
    up = axis | {"range": (np.log10(ends) if log else ends).tolist()}
    return titled(words["context"]) | axis, titled(f"{words['cache']}, {unit}") | up


def _levels(levels: Mapping[str, float], contexts: Sequence[int], unit: str) -> list[dict]:
    """A line for each amount of bytes, its name at the left end."""
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
