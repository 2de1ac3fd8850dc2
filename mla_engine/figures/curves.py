"""Lines over whole numbers: frequencies of the pairs, change with the distance."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.ends import name_ends
from mla_engine.figures.looks import Look, look
from mla_engine.figures.theme import MASKED, few_ticks, figure
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
) -> go.Figure:
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
    fig = figure(traces, height=height)
    if band:
        fig.add_vrect(
            x0=band[0], x1=band[1], fillcolor=MASKED, opacity=0.25, line_width=0, layer="below"
        )
    if at is not None:
        fig.add_vline(x=at, line={"color": MASKED, "dash": "dot", "width": 3}, layer="below")
    _axes(fig, titles, np.asarray(x), np.concatenate(list(lines.values())), log=log)
    return name_ends(fig, looks)


def _line(x: Sequence[int], numbers: np.ndarray, name: str, title: str, its: Look) -> go.Scatter:
    return go.Scatter(
        x=np.asarray(x),
        y=np.asarray(numbers, dtype=np.float64),
        name=name,
        mode="lines+markers",
        cliponaxis=False,
        line={"color": its.colour, "dash": its.dash, "width": 4},
        marker={"symbol": its.mark, "size": 8},
        hovertemplate=f"{name}<br>{title} %{{x}}<br>%{{y:.4g}}<extra></extra>",
    )


def _axes(
    fig: go.Figure, titles: tuple[str, str], x: np.ndarray, drawn: np.ndarray, *, log: bool
) -> None:
    ends, room = [float(x[0]), float(x[-1])], 0.02 * float(x[-1] - x[0]) or 0.5
    fig.update_xaxes(title_text=titles[0], range=[ends[0] - room, ends[1]], fixedrange=True)
    least, top = float(drawn.min()), float(drawn.max()) or 1.0
    fig.update_xaxes(nticks=few_ticks(ends[1]), tickangle=0)
    fig.update_yaxes(
        title_text=titles[1],
        fixedrange=True,
        type="log" if log else "linear",
        range=list(np.log10((least / 1.5, top * 1.5))) if log else [min(0, least), top * 1.05],
        dtick=1 if log else None,
        exponentformat="power",
    )
