"""The looks of every figure: one template, colour scales, one font size.

Paper and text colours are left to the page, so that a figure serves light and dark alike. Sizes
stand in the layout as well as in the template, since a page may put its own template in place.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from plotly.colors import get_colorscale

from mla_engine.figures.looks import OTHERS, Look

FONT_SIZE = 16

MASKED = "#8B9199"
TRANSPARENT = "rgba(0,0,0,0)"
CLEAR = [[0, TRANSPARENT], [1, TRANSPARENT]]

# One hue, evenly darker: no shade meets a mask, which is the page's own ground under hatching.
PROBABILITY = [
    [k / 8, colour]
    for k, colour in enumerate(
        (
            "#DCE9F7",
            "#BAD4EE",
            "#98BEE4",
            "#77A8DA",
            "#5792CF",
            "#377CC1",
            "#1F66AE",
            "#125096",
            "#083A7C",
        )
    )
]
SIGNED = get_colorscale("RdBu_r")

# What a figure says by itself; a page passes the same keys in its reader's language.
WORDS: Mapping[str, str] = {
    "query": "query",
    "key": "key",
    "head": "head",
    "row": "row",
    "column": "column",
    "value": "value",
    "masked": "masked",
    "pooled": "each cell: largest of {rows} × {columns}",
    "cached": "cached",
    "context": "context length, tokens",
    "cache": "cache",
    "measured": "measured",
}

pio.templates["mla"] = go.layout.Template(
    layout={
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "font": {"size": FONT_SIZE},
        "colorway": [other.colour for other in OTHERS],
        "hoverlabel": {"align": "left", "font": {"size": FONT_SIZE}},
        "xaxis": {"zeroline": False},
        "yaxis": {"zeroline": False},
    }
)


def few_ticks(last: float) -> int:
    """Most ticks of an axis of whole numbers up to `last`, for which a phone has room."""
    return 9 if last < 1000 else 5


def figure(traces: list[go.Heatmap | go.Scatter], *, height: int) -> go.Figure:
    """An empty frame of a fixed height around `traces`, in the house style."""
    font = {"size": FONT_SIZE}
    fig = go.Figure(traces)
    fig.update_layout(
        template="mla",
        height=height,
        paper_bgcolor=TRANSPARENT,
        plot_bgcolor=TRANSPARENT,
        font=font,
        hoverlabel={"align": "left", "font": font},
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        dragmode=False,
    )
    axis = {"tickfont": font, "title_font": font, "automargin": True, "zeroline": False}
    fig.update_xaxes(**axis)
    fig.update_yaxes(**axis)
    return fig


def legend_above(
    fig: go.Figure, *, shown: bool | None = None, height: int = 44, entry_width: int | None = None
) -> None:
    """Room of `height` pixels above the plot for the legend, whether it is shown or not.

    `shown` None leaves it to Plotly; entries of one `entry_width` stand in columns.
    """
    place = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "entrywidth": entry_width}
    legend = place | {"traceorder": "normal", "font": {"size": FONT_SIZE}}
    fig.update_layout(showlegend=shown, legend=legend, margin_t=height)


def line(x: Sequence[float], y: Sequence[float], name: str, look: Look, hover: str) -> go.Scatter:
    """One line of a chart; `hover` is what it says of a point, under its name."""
    return go.Scatter(
        x=np.asarray(x),
        y=np.asarray(y, dtype=np.float64),
        name=name,
        mode="lines",
        line={"color": look.colour, "dash": look.dash, "width": 4},
        hovertemplate=f"{name}<br>{hover}<extra></extra>",
    )


def symbol_parts(code: str) -> tuple[str, str, str]:
    """A code name as its letter, what is raised and what is lowered: c_KV_pre -> c, KV, pre.

    Parts in capitals are the paper's superscripts; parts in small letters say which stage it is.
    """
    head, *parts = code.split("_")
    raised = "".join(part for part in parts if part.isupper())
    return head, raised, ",".join(part for part in parts if not part.isupper())


def symbol_html(code: str) -> str:
    """A code name as Plotly's text shows it."""
    head, raised, lowered = symbol_parts(code)
    return (
        head
        + (f"<sup>{raised}</sup>" if raised else "")
        + (f"<sub>{lowered}</sub>" if lowered else "")
    )
