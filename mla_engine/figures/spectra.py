"""Singular values, falling, on a logarithmic axis, with the rank that is kept or found."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.theme import COLOURS, FONT_SIZE, MASKED, figure

HEIGHT = 380
STYLES = (("latent", "solid"), ("key", "dash"), ("value", "dot"), ("query", "dashdot"))
DECADES = 20  # below the largest; what is smaller is rounding


def spectrum(
    values: Mapping[str, np.ndarray],
    *,
    at: int | None = None,
    at_name: str = "",
    axes: tuple[str, str] = ("number", "singular value"),
    decades: int = DECADES,
    height: int = HEIGHT,
) -> go.Figure:
    """Lines of falling values over their number, counted from 1.

    Args:
        values: name -> values [n], falling.
        at: a number to mark by an upright line.
        at_name: what stands beside that line.
        axes: titles of the axes of numbers and of values.
        decades: how far below the largest value the axis reaches at most.
        height: pixels.
    """
    traces = [
        go.Scatter(
            x=np.arange(1, len(falling) + 1),
            y=np.asarray(falling, dtype=np.float64),
            name=name,
            mode="lines",
            line={"color": COLOURS[role], "dash": dash, "width": 4},
            hovertemplate=f"{name}<br>{axes[0]} %{{x:,}}<br>%{{y:.4g}}<extra></extra>",
        )
        for (name, falling), (role, dash) in zip(values.items(), STYLES, strict=False)
    ]
    fig = figure(traces, height=height)
    most = max(float(np.max(falling)) for falling in values.values()) or 1.0
    seen = [v[v > most * 10.0**-decades] for v in map(np.asarray, values.values())]
    least = min((float(v.min()) for v in seen if v.size), default=most)
    fig.update_yaxes(
        title_text=axes[1],
        type="log",
        dtick="D2" if most / least < 100 else 1 if most / least < 1e6 else None,
        exponentformat="power",
        range=[np.log10(least) - 0.15, np.log10(most) + 0.3],
        fixedrange=True,
    )
    longest = max(len(falling) for falling in values.values())
    fig.update_xaxes(title_text=axes[0], range=[0, longest + 1], fixedrange=True, nticks=6)
    if at is not None:
        fig.add_vline(x=at, line={"color": MASKED, "dash": "dot", "width": 3})
        side = "right" if at > longest / 2 else "left"
        fig.add_annotation(
            x=at,
            y=1,
            yref="paper",
            text=at_name,
            showarrow=False,
            xanchor=side,
            xshift=-8 if side == "right" else 8,
            yanchor="top",
            font={"size": FONT_SIZE},
        )
    fig.update_layout(
        showlegend=len(values) > 1,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": FONT_SIZE},
        },
        margin={"t": 44},
    )
    return fig
