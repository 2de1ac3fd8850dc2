"""Cache against context length: one line for each way of caching, dots for what was measured."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.theme import COLOURS, MASKED, WORDS, figure, legend_above
from mla_engine.refusals import RefusedError

HEIGHT = 560
LEGEND_HEIGHT = 76
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
# Colour is never the only sign: each line has a dash and each set of dots a shape of its own.
STYLES = (
    ("key", "dash", "square"),
    ("query", "dashdot", "diamond"),
    ("value", "dot", "triangle-up"),
    ("latent", "solid", "circle"),
    ("rope", "longdash", "cross"),
    ("output", "longdashdot", "x"),
)


def cache_growth(
    contexts: Sequence[int],
    curves: Mapping[str, np.ndarray],
    *,
    points: Mapping[str, tuple[Sequence[int], Sequence[int]]] | None = None,
    log: bool = True,
    unit: str = "GiB",
    limits: tuple[float, float] | None = None,
    at: int | None = None,
    height: int = HEIGHT,
    words: Mapping[str, str] = WORDS,
) -> go.Figure:
    """Bytes [context] of each curve over the context length.

    Args:
        contexts: tokens, ascending; above 0 on logarithmic axes.
        curves: name -> bytes at each context, in the order of the legend (up to six).
        points: name -> (contexts, bytes) measured on real caches, drawn in the curve's colour.
        log: both axes logarithmic.
        unit: one of UNITS, shown in the axis title.
        limits: lowest and highest bytes of the y axis, for charts to be compared.
        at: a context length to mark by an upright line.
        height: pixels.
        words: what the figure says, in the reader's language.

    Raises:
        ValueError: an unknown unit.
    """
    if unit not in UNITS:
        raise RefusedError("choice", name="unit", value=unit, listed=", ".join(UNITS))
    fig = figure(_traces(contexts, curves, points or {}, unit, words), height=height)
    if at is not None:
        fig.add_vline(x=at, line={"color": MASKED, "dash": "dot", "width": 2}, layer="below")
    _axes(fig, log, unit, limits, words)
    return fig


def _traces(
    contexts: Sequence[int],
    curves: Mapping[str, np.ndarray],
    measured: Mapping[str, tuple[Sequence[int], Sequence[int]]],
    unit: str,
    words: Mapping[str, str],
) -> list[go.Scatter]:
    traces = []
    for (name, sizes), style in zip(curves.items(), cycle(STYLES), strict=False):
        hover = f"{name}<br>{words['context']} %{{x:,}}<br>%{{y:,.4g}} {unit}<extra></extra>"
        traces.append(_trace(contexts, sizes, unit, name=name, hovertemplate=hover, **_line(style)))
        if name in measured:
            said = {
                "name": f"{name}, {words['measured']}",
                "hovertemplate": f"{words['measured']}<br>{hover}",
            }
            traces.append(_trace(*measured[name], unit, **said, **_dots(style)))
    return traces


def _trace(
    contexts: Sequence[int], sizes: Sequence[int], unit: str, **options: object
) -> go.Scatter:
    in_unit = np.asarray(sizes, dtype=np.float64) / UNITS[unit]
    return go.Scatter(x=np.asarray(contexts), y=in_unit, **options)


def _line(style: tuple[str, str, str]) -> dict:
    role, dash, _ = style
    return {"mode": "lines", "line": {"color": COLOURS[role], "dash": dash, "width": 4}}


def _dots(style: tuple[str, str, str]) -> dict:
    role, _, symbol = style
    marker = {"color": COLOURS[role], "symbol": symbol, "size": 13}
    return {"mode": "markers", "marker": marker, "showlegend": False}


def _axes(
    fig: go.Figure,
    log: bool,
    unit: str,
    limits: tuple[float, float] | None,
    words: Mapping[str, str],
) -> None:
    kind = "log" if log else "linear"
    # Powers of ten alone: a decade's other ticks would print 2 and 5 without their decade.
    axis = {"type": kind, "fixedrange": True, "dtick": 1 if log else None, "tickformat": ",.9~g"}
    fig.update_xaxes(title_text=words["context"], **axis)
    if log:  # in full a million would run into its neighbour on a phone
        tens = [10**power for power in range(10)]
        texts = [f"{n:,}" if n < 10**6 else f"{n // 10**6:,}M" for n in tens]
        fig.update_xaxes(tickvals=tens, ticktext=texts, tickangle=0)
    fig.update_yaxes(title_text=f"{words['cache']}, {unit}", **axis)
    if limits is not None:
        ends = np.asarray(limits, dtype=np.float64) / UNITS[unit]
        fig.update_yaxes(range=list(np.log10(ends) if log else ends))
    fig.update_layout(hovermode="closest")
    # Columns of one width, and room for two rows whether used or not: charts side by side keep
    # plot areas of one height.
    legend_above(fig, height=LEGEND_HEIGHT, entry_width=98)
