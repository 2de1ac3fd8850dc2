"""What a latent of each rank loses and costs: lines over the rank, with the chosen one marked."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.theme import MASKED, figure, legend_above, line
from mla_engine.refusals import RefusedError

HEIGHT = 420
# Colour is never the only sign.
STYLES = (("key", "dash"), ("value", "dot"), ("query", "dashdot"), ("latent", "solid"))


def over_rank(
    ranks: Sequence[int],
    lines: Mapping[str, np.ndarray],
    *,
    titles: tuple[str, str],
    at: int | None = None,
    log: bool = False,
    styles: Sequence[tuple[str, str]] = STYLES,
    height: int = HEIGHT,
) -> go.Figure:
    """Each line's numbers [len(ranks)] over the rank; axes begin at 0.

    Args:
        ranks: ascending.
        lines: name -> numbers, as many lines as there are `styles` at most.
        titles: of the axes.
        at: a rank to mark by an upright line.
        log: the y axis is logarithmic; what is 0 is left out.
        styles: role that picks the colour, and dash, of each line.
        height: pixels.

    Raises:
        ValueError: more lines than styles.
    """
    if len(lines) > len(styles):
        raise RefusedError("line_styles", lines=len(lines), styles=len(styles))
    hover = f"{titles[0]} %{{x:,}}<br>%{{y:.4g}}"
    drawn = zip(lines.items(), styles, strict=False)
    traces = [
        line(ranks, _positive(y) if log else y, name, *style, hover) for (name, y), style in drawn
    ]
    fig = figure(traces, height=height)
    if at is not None:
        fig.add_vline(x=at, line={"color": MASKED, "dash": "dot", "width": 3}, layer="below")
    _axes(fig, titles, ranks[-1], log=log)
    legend_above(fig, shown=len(lines) > 1)
    fig.update_layout(hovermode="closest", margin_r=24)
    return fig


def _axes(fig: go.Figure, titles: tuple[str, str], most: int, *, log: bool) -> None:
    common = {"fixedrange": True, "nticks": 6}
    fig.update_xaxes(title_text=titles[0], range=[0, most], tickformat=",", **common)
    fig.update_yaxes(
        title_text=titles[1],
        type="log" if log else "linear",
        rangemode="normal" if log else "tozero",
        dtick=1 if log else None,
        tickformat=",~g",
        **common,
    )


def _positive(numbers: np.ndarray) -> np.ndarray:
    amounts = np.asarray(numbers, dtype=np.float64)
    return np.where(amounts > 0, amounts, np.nan)
