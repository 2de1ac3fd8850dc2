"""Bars: a few named amounts beside each other, stacked from their parts or in groups."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.looks import Role, look
from mla_engine.figures.theme import FONT_SIZE, MASKED, figure, legend_above
from mla_engine.refusals import RefusedError

# Colour is never the only sign: each part has a pattern of its own.
PATTERNS = ("", "/", ".", "x")
ROLES = (0, 1, 2, 3)
FADED = 0.4
HEIGHT = 260


def bars(
    names: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    axis: str = "",
    stacked: bool = True,
    log: bool = False,
    chosen: int | None = None,
    roles: Sequence[Role] = ROLES,
    totals: Sequence[str] | None = None,
    limits: tuple[float, float] | None = None,
    height: int = HEIGHT,
) -> go.Figure:
    """Lying bars, one row a name, read from the top.

    Args:
        names: what the rows are called, in Plotly's text.
        parts: name of a part -> its amount in each row; on a log axis above 0.
        axis: title of the axis of amounts.
        stacked: parts end to end; otherwise beside one another.
        log: logarithmic axis; refused with stacked parts, whose lengths would mean nothing.
        chosen: the row to stress; the others fade.
        roles: what picks the colour of each part.
        totals: a text at the end of each row; longer bars leave room for it.
        limits: ends of the axis, for charts to be compared.
        height: pixels.
    """
    if stacked and log:
        raise RefusedError("stacked_log")
    amounts = np.asarray(list(parts.values()), dtype=np.float64)
    fig = figure(_traces(names, parts, roles, chosen, axis), height=height)
    ends = _room(amounts.sum(0) if stacked else amounts, limits, log=log, wide=bool(totals))
    _amount_axis(fig, axis, ends, log=log)
    name_rows(fig, names)
    if totals:
        fig.add_trace(totals_at_ends(amounts.sum(0), totals))
    legend_above(fig, shown=len(parts) > 1)
    fig.update_layout(barmode="stack" if stacked else "group", bargap=0.3)
    return fig


def _traces(
    names: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    roles: Sequence[Role],
    chosen: int | None,
    axis: str,
) -> list[go.Bar]:
    opacity = [1.0 if chosen in (None, row) else FADED for row in range(len(names))]
    return [
        go.Bar(
            y=list(range(len(names))),
            x=np.asarray(amounts, dtype=np.float64),
            name=part,
            orientation="h",
            marker={
                "color": look(role).colour,
                "opacity": opacity,
                "pattern": {"shape": pattern, "solidity": 0.25, "fillmode": "overlay"},
            },
            customdata=list(names),
            hovertemplate=f"%{{customdata}}<br>{part}<br>%{{x:,.4g}} {axis}<extra></extra>",
        )
        for (part, amounts), role, pattern in zip(parts.items(), roles, PATTERNS, strict=False)
    ]


def _amount_axis(fig: go.Figure, axis: str, ends: Sequence[float] | None, *, log: bool) -> None:
    fig.update_xaxes(
        title_text=axis,
        type="log" if log else "linear",
        range=ends,
        fixedrange=True,
        nticks=6,
        tickformat=".0e" if log else "~s",
        gridcolor=MASKED,
    )


def name_rows(fig: go.Figure, names: Sequence[str]) -> None:
    """Names beside lying bars, read from the top."""
    rows = {"tickvals": list(range(len(names))), "ticktext": list(names)}
    fig.update_yaxes(range=[len(names) - 0.5, -0.5], fixedrange=True, showgrid=False, **rows)


def _room(
    lengths: np.ndarray, limits: tuple[float, float] | None, *, log: bool, wide: bool
) -> Sequence[float] | None:
    """Ends of the axis of amounts: as given, else from 0 to the longest bar and its text."""
    if log:
        return None if limits is None else np.log10(limits)
    return limits or (0, (float(lengths.max()) or 1.0) * (1.35 if wide else 1.05))


def totals_at_ends(ends: Sequence[float], totals: Sequence[str]) -> go.Scatter:
    """A text behind the end of each lying bar."""
    return go.Scatter(
        x=list(ends),
        y=list(range(len(totals))),
        mode="text",
        text=[f" {total}" for total in totals],
        textposition="middle right",
        textfont={"size": FONT_SIZE},
        hoverinfo="skip",
        showlegend=False,
        cliponaxis=False,
    )
