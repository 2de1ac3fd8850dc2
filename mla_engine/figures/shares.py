"""Parts of a whole, one upright bar for each head; a part may be negative."""

from collections.abc import Mapping, Sequence

import numpy as np

from mla_engine.figures.bars import PATTERNS
from mla_engine.figures.figure import Figure, figure, titled
from mla_engine.figures.looks import look
from mla_engine.figures.theme import MASKED, legend_above, level

HEIGHT = 360
MOST_LABELS = 9  # of three digits that stand beside each other on a phone
STEPS = (1, 2, 4, 5, 8, 10, 16, 20, 32, 64)  # from label to label


def head_shares(
    heads: Sequence[int],
    parts: Mapping[str, np.ndarray],
    *,
    roles: Sequence[str],
    axes: tuple[str, str],
    height: int = HEIGHT,
) -> Figure:
    """Parts [h] that sum to 1 in each head, stacked up and, where negative, down from 0.

    Args:
        heads: global numbers, in the order of the bars, at most 576.
        parts: name -> amounts [h].
        roles: what picks the colour of each part.
        axes: titles of the axes of heads and of shares.
        height: pixels.
    """
    drawn = zip(parts.items(), roles, PATTERNS, strict=False)
    traces = [_part(heads, *part, axes[0], style) for part, *style in drawn]
    up = {"fixedrange": True, "nticks": 6, "gridcolor": MASKED}
    return figure(
        traces,
        height=height,
        x=heads_axis(heads, axes[0]),
        y=titled(axes[1]) | up,
        shapes=[level(0, {"color": MASKED, "width": 2})],
        barmode="relative",
        bargap=0.2,
        **legend_above(shown=True),
    )


def heads_axis(heads: Sequence[int], title: str) -> dict:
    """The axis of one bar a head, with as many numbers as stand beside each other on a phone."""
    every = next(step for step in STEPS if step * MOST_LABELS >= len(heads))
    places = list(range(0, len(heads), every))
    ticks = {"tickvals": places, "ticktext": [str(heads[place]) for place in places]}
    return titled(title) | ticks | {"tickangle": 0, "fixedrange": True, "showgrid": False}


def _part(
    heads: Sequence[int], part: str, amounts: np.ndarray, axis: str, style: Sequence[str]
) -> dict:
    """One part of every head; `style` is its role and its pattern."""
    role, pattern = style
    return {
        "type": "bar",
        "x": list(range(len(heads))),
        "y": np.asarray(amounts, dtype=np.float64),
        "name": part,
        "marker": {
            "color": look(role).colour,
            "pattern": {"shape": pattern, "solidity": 0.25, "fillmode": "overlay"},
        },
        "customdata": list(heads),
        "hovertemplate": f"{axis} %{{customdata}}<br>{part} %{{y:.3f}}<extra></extra>",
    }
