"""Caches as they grow: a bar for each way of caching, a block for each token."""

from collections.abc import Callable, Sequence
from math import log2

import plotly.graph_objects as go

from mla_engine.figures.bars import name_rows, totals_at_ends
from mla_engine.figures.theme import COLOURS, MASKED, figure, legend_above

HEIGHT = 420
OLD, NEW = COLOURS["output"], COLOURS["key"]
PROMPT = MASKED


def cache_blocks(
    names: Sequence[str],
    bytes_per_token: Sequence[float],
    tokens: tuple[int, int],
    *,
    most: int,
    titles: tuple[str, str, str],
    axis: str,
    shown: Callable[[float], str],
    height: int = HEIGHT,
) -> go.Figure:
    """Lying bars of blocks, as wide as the bytes that each holds; the newest stands out.

    Args:
        names: of the ways, read from the top.
        bytes_per_token: that each way keeps.
        tokens: in the prompt, drawn as one block, and made since.
        most: tokens that the axis leaves room for, so that nothing jumps as the caches grow.
        titles: what the prompt, an earlier token and the newest one are called.
        axis: title of the axis of bytes.
        shown: bytes as text, for the axis and the end of each row.
        height: pixels.
    """
    prompt, made = tokens
    blocks = [(prompt, PROMPT, 1.0, titles[0])]
    blocks += [(1, OLD, 0.6 if n % 2 else 1.0, titles[1]) for n in range(made - 1)]
    blocks += [(1, NEW, 1.0, titles[2])] * (made > 0)
    first = {title: n for n, (*_, title) in reversed(list(enumerate(blocks)))}
    traces = [
        _block(names, bytes_per_token, block, listed=first[block[-1]] == n)
        for n, block in enumerate(blocks)
    ]
    held = [(prompt + made) * size for size in bytes_per_token]
    traces.append(totals_at_ends(held, [shown(size) for size in held]))
    fig = figure(traces, height=height)
    _byte_axis(fig, axis, 1.25 * most * max(bytes_per_token), shown)
    name_rows(fig, names)
    legend_above(fig)
    fig.update_layout(barmode="stack", bargap=0.35)
    return fig


def _block(
    names: Sequence[str],
    bytes_per_token: Sequence[float],
    block: tuple[int, str, float, str],
    *,
    listed: bool,
) -> go.Bar:
    """One block in every row; `listed` gives it an entry in the legend."""
    count, colour, opacity, title = block
    return go.Bar(
        y=list(range(len(names))),
        x=[count * size for size in bytes_per_token],
        name=title,
        orientation="h",
        showlegend=listed,
        marker={
            "color": colour,
            "opacity": opacity,  # neighbours differ, without edges that would fill them
            "line": {"color": colour, "width": 3 if colour == NEW else 0},
        },
        customdata=list(names),
        hovertemplate=f"%{{customdata}}<br>{title}<br>%{{x:,}} B<extra></extra>",
    )


def _byte_axis(fig: go.Figure, axis: str, widest: float, shown: Callable[[float], str]) -> None:
    tick = 2.0 ** int(log2(widest))  # one beside 0: more run together on a phone
    fig.update_xaxes(
        title_text=axis,
        range=[0, widest],
        fixedrange=True,
        tickvals=[0, tick],
        ticktext=["0", shown(tick)],
        tickangle=0,
    )
