"""What a page changes of a chart: memory that there is, ticks, the legend."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from mla_engine.figures.lines import UNITS
from mla_engine.figures.theme import FONT_SIZE, MASKED

DASHES = ("solid", "dot")


def add_levels(
    fig: go.Figure, levels: Mapping[str, float], *, ends: tuple[float, float], unit: str
) -> go.Figure:
    """A level line for each amount, its name at the left end; returns `fig`.

    Args:
        fig: a chart of caches.
        levels: name -> bytes, above 0; up to two.
        ends: the first and the last place of x.
        unit: of the chart's y axis, one of UNITS.
    """
    for (name, n_bytes), dash in zip(levels.items(), DASHES, strict=False):
        height = n_bytes / UNITS[unit]
        fig.add_scatter(
            x=list(ends),
            y=[height, height],
            mode="lines+text",
            name=name,
            text=[name, ""],
            textposition="top right",
            textfont={"size": FONT_SIZE},
            line={"color": MASKED, "dash": dash, "width": 3},
            hovertemplate=f"{name}<br>{height:,.4g} {unit}<extra></extra>",
            showlegend=False,
        )
    return fig


def ticks_at(fig: go.Figure, places: Sequence[int]) -> go.Figure:
    """Print these places of x and no others; returns `fig`."""
    fig.update_xaxes(tickmode="array", tickvals=list(places), ticktext=[f"{n:,}" for n in places])
    return fig


def legend_in_columns(fig: go.Figure, *, shown: bool, entry_width: int) -> go.Figure:
    """Show the legend or not, its entries of one width in pixels; returns `fig`."""
    fig.update_layout(showlegend=shown, legend_entrywidth=entry_width)
    return fig
