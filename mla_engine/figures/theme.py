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
FONT = {"size": FONT_SIZE}

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
    "unplaced": "not a finite number",
    "pooled": "each cell: largest of {rows} × {columns}",
    "cached": "cached",
    "context": "context length, tokens",
    "cache": "cache",
    "measured": "measured",
    "in_unit": "{name}, {unit}",
    "of_measured": "{name}, measured",
}

TEMPLATE = {
    "layout": {
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "font": FONT,
        "colorway": [other.colour for other in OTHERS],
        "hoverlabel": {"align": "left", "font": FONT},
        "margin": {"pad": 8},
        "xaxis": {"zeroline": False, "showgrid": False, "title": {"standoff": 20}},
        "yaxis": {"zeroline": False, "title": {"standoff": 24}},
    }
}
pio.templates["mla"] = go.layout.Template(TEMPLATE)


def few_ticks(last: float) -> int:
    """Return the most ticks that a phone shows on an axis of whole numbers up to `last`."""
    return 9 if last < 1000 else 5


def ticks_at(places: Sequence[int]) -> dict:
    """Return the options of an axis that labels these places and no others."""
    texts = [f"{n:,}" for n in places]
    return {"tickmode": "array", "tickvals": list(places), "ticktext": texts}


def legend_above(
    *, shown: bool | None = None, height: int = 44, entry_width: int | None = None
) -> dict:
    """Reserve `height` pixels above the plot for the legend, shown or not.

    `shown` None leaves it to Plotly; entries of one `entry_width` stand in columns, all of them:
    where these are narrow, Plotly would let half of a chart's height be scrolled.
    """
    place = {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top"}
    place |= {"entrywidth": entry_width}
    place |= {"maxheight": 0.8} if entry_width else {}
    legend = place | {"traceorder": "normal", "font": FONT}
    return {"showlegend": shown, "legend": legend, "margin": {"t": height}}


def line(x: Sequence[float], y: Sequence[float], name: str, look: Look, hover: str) -> dict:
    """Return one line of a chart; `hover` is what it says of a point, under its name."""
    return {
        "type": "scatter",
        "x": np.asarray(x),
        "y": np.asarray(y, dtype=np.float64),
        "name": name,
        "mode": "lines",
        "line": {"color": look.colour, "dash": look.dash, "width": 4},
        "hovertemplate": f"{name}<br>{hover}<extra></extra>",
    }


def upright(x: float | None, *, width: int = 3, layer: str | None = "below") -> list[dict]:
    """Return a dotted line up the whole plot at a place of x, if there is one."""
    ends = {"x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
    dots = {"line": {"color": MASKED, "dash": "dot", "width": width}, "layer": layer}
    return [] if x is None else [{"type": "line", "name": "here"} | dots | ends]


def level(y: float, stroke: Mapping) -> dict:
    """Return a line across the whole plot at a height."""
    ends = {"x0": 0, "x1": 1, "xref": "x domain", "y0": y, "y1": y, "yref": "y"}
    return {"type": "line", "line": dict(stroke), "layer": "below"} | ends


def shaded(first: float, last: float, opacity: float) -> dict:
    """Return a stretch of x, up the whole plot and behind all else."""
    ends = {"x0": first, "x1": last, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
    ground = {"fillcolor": MASKED, "opacity": opacity, "line": {"width": 0}, "layer": "below"}
    return {"type": "rect"} | ends | ground


def symbol_parts(code: str) -> tuple[str, str, str]:
    """Return a code name as its letter, what is raised and what is lowered: c_KV_pre -> c, KV, pre.

    Parts in capitals are the paper's superscripts; parts in small letters say which stage it is.
    """
    head, *parts = code.split("_")
    raised = "".join(part for part in parts if part.isupper())
    return head, raised, ",".join(part for part in parts if not part.isupper())


def symbol_html(code: str) -> str:
    """Return a code name as Plotly's text shows it."""
    head, raised, lowered = symbol_parts(code)
    return (
        head
        + (f"<sup>{raised}</sup>" if raised else "")
        + (f"<sub>{lowered}</sub>" if lowered else "")
    )
