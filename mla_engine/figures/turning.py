"""One pair of a query and of a key, turning in its plane as their positions grow."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.theme import COLOURS, FONT_SIZE, MASKED, WORDS, figure

HEIGHT = 520
ROOM = 1.15  # of the longest arrow, on every side


def turning_pair(
    query: np.ndarray,
    key: np.ndarray,
    *,
    at: tuple[int, int],
    dimensions: tuple[int, int],
    height: int = HEIGHT,
    words: Mapping[str, str] = WORDS,
) -> go.Figure:
    """Arrows to where the query and the key are, dots where they are at other positions.

    Args:
        query: the pair's two numbers at each position [t,2].
        key: the same of the key [s,2].
        at: the positions of query and key.
        dimensions: which two dimensions of the vectors these are.
        height: pixels.
        words: what the figure says, in the reader's language.
    """
    longest = float(np.linalg.norm(np.concatenate((query, key)), axis=1).max()) or 1.0
    traces = [
        *_turning("query", query, at[0], "circle", "solid", words),
        *_turning("key", key, at[1], "square", "dash", words),
    ]
    fig = figure(traces, height=height)
    fig.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    fig.update_layout(margin={"t": 44}, legend_font_size=FONT_SIZE)
    limits = [-longest * ROOM, longest * ROOM]
    axis = {"range": limits, "fixedrange": True, "zeroline": True, "zerolinecolor": MASKED}
    names = [f"x<sub>{dimension}</sub>" for dimension in dimensions]
    fig.update_xaxes(**axis, title_text=names[0], constrain="domain", nticks=5)
    fig.update_yaxes(**axis, title_text=names[1], scaleanchor="x", nticks=5)
    return fig


def _turning(
    name: str, points: np.ndarray, here: int, symbol: str, dash: str, words: Mapping[str, str]
) -> tuple[go.Scatter, go.Scatter]:
    """Dots at every position, and the arrow to the present one."""
    colour = COLOURS[name]
    dots = _scatter(
        points,
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": 8, "opacity": 0.45},
        text=[str(i) for i in range(len(points))],
        hovertemplate=f"{words[name]} %{{text}}<br>%{{x:.3f}}, %{{y:.3f}}<extra></extra>",
        showlegend=False,
    )
    arrow = _scatter(
        np.stack((np.zeros(2), points[here])),
        mode="lines+markers",
        line={"color": colour, "width": 5, "dash": dash},
        marker={"color": colour, "symbol": [symbol, symbol], "size": [1, 16]},
        name=f"{words[name]}, {here}",
        hoverinfo="skip",
    )
    return dots, arrow


def _scatter(points: np.ndarray, **look: object) -> go.Scatter:
    flat = np.asarray(points, dtype=np.float32)
    return go.Scatter(x=flat[:, 0], y=flat[:, 1], **look)
