"""Lines over whole numbers: frequencies of the pairs, change with the distance."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.theme import COLOURS, FONT_SIZE, MASKED, figure
from mla_engine.refusals import RefusedError

HEIGHT = 460
# Colour is never the only sign.
STYLES = (("query", "dash", "circle"), ("rope", "solid", "square"))


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
    if len(lines) > len(STYLES):
        raise RefusedError("line_styles", lines=len(lines), styles=len(STYLES))
    styled = zip(lines.items(), STYLES, strict=False)
    traces = [_line(x, numbers, name, titles[0], *style) for (name, numbers), style in styled]
    fig = figure(traces, height=height)
    if band:
        fig.add_vrect(
            x0=band[0], x1=band[1], fillcolor=MASKED, opacity=0.25, line_width=0, layer="below"
        )
    if at is not None:
        fig.add_vline(x=at, line={"color": MASKED, "dash": "dot", "width": 3}, layer="below")
    _frame(fig, titles, log)
    return fig


def _line(
    x: Sequence[int], numbers: np.ndarray, name: str, title: str, role: str, dash: str, symbol: str
) -> go.Scatter:
    return go.Scatter(
        x=np.asarray(x),
        y=np.asarray(numbers, dtype=np.float64),
        name=name,
        mode="lines+markers",
        cliponaxis=False,
        line={"color": COLOURS[role], "dash": dash, "width": 4},
        marker={"symbol": symbol, "size": 8},
        hovertemplate=f"{name}<br>{title} %{{x}}<br>%{{y:.4g}}<extra></extra>",
    )


def _frame(fig: go.Figure, titles: tuple[str, str], log: bool) -> None:
    fig.update_xaxes(title_text=titles[0], fixedrange=True, nticks=9)
    fig.update_yaxes(
        title_text=titles[1],
        fixedrange=True,
        type="log" if log else "linear",
        dtick=1 if log else None,
        exponentformat="power",
        rangemode="normal" if log else "tozero",
    )
    fig.update_layout(
        margin={"t": 44},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        legend_font_size=FONT_SIZE,
        showlegend=True,
    )
