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
    traces = []
    for name, points, here, symbol in (
        ("query", query, at[0], "circle"),
        ("key", key, at[1], "square"),
    ):
        colour = COLOURS[name]
        hover = f"{words[name]} %{{text}}<br>%{{x:.3f}}, %{{y:.3f}}<extra></extra>"
        texts = [str(i) for i in range(len(points))]
        dots = {"color": colour, "symbol": symbol, "size": 8, "opacity": 0.45}
        traces.append(_scatter(points, "markers", marker=dots, text=texts, hovertemplate=hover))
        end = {"color": colour, "symbol": [symbol, symbol], "size": [1, 16]}
        arrow = np.stack((np.zeros(2), points[here]))
        line = {"color": colour, "width": 5, "dash": "solid" if name == "query" else "dash"}
        label = f"{words[name]}, {here}"
        traces.append(
            _scatter(arrow, "lines+markers", line=line, marker=end, name=label, hoverinfo="skip")
        )
        traces[-2].showlegend = False
    fig = figure(traces, height=height)
    fig.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    fig.update_layout(margin={"t": 44}, legend_font_size=FONT_SIZE)
    limits = [-longest * ROOM, longest * ROOM]
    axis = {"range": limits, "fixedrange": True, "zeroline": True, "zerolinecolor": MASKED}
    names = [f"x<sub>{dimension}</sub>" for dimension in dimensions]
    fig.update_xaxes(**axis, title_text=names[0], constrain="domain", nticks=5)
    fig.update_yaxes(**axis, title_text=names[1], scaleanchor="x", nticks=5)
    return fig


def _scatter(points: np.ndarray, mode: str, **look: object) -> go.Scatter:
    flat = np.asarray(points, dtype=np.float32)
    return go.Scatter(x=flat[:, 0], y=flat[:, 1], mode=mode, **look)
