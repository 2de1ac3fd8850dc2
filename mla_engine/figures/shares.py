"""A number of each head as a bar, or its spread within each head as a mark on a bar."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mla_engine.figures.bars import PATTERNS
from mla_engine.figures.figure import Figure, figure, titled
from mla_engine.figures.looks import Role, look
from mla_engine.figures.placed import at_zero, placed, span
from mla_engine.figures.placed import notes as unplaced
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
    """Draw parts [h] that sum to 1 in each head, stacked up and, where negative, down from 0.

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
        annotations=at_zero(list(parts.values())),
        barmode="relative",
        bargap=0.2,
        **legend_above(shown=True),
    )


def heads_axis(heads: Sequence[int], title: str) -> dict:
    """Return the axis of one bar a head, with as many numbers as a phone shows side by side."""
    every = next(step for step in STEPS if step * MOST_LABELS >= len(heads))
    places = list(range(0, len(heads), every))
    ticks = {"tickvals": places, "ticktext": [str(heads[place]) for place in places]}
    return titled(title) | ticks | {"tickangle": 0, "fixedrange": True, "showgrid": False}


def _part(
    heads: Sequence[int], part: str, amounts: np.ndarray, axis: str, style: Sequence[str]
) -> dict:
    """Return one part of every head; `style` is its role and its pattern."""
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


DECADES = [10.0**power for power in range(-4, 10)]
MARK, CHOSEN, ROOM = 11, 17, 24  # pixels of marks, and above the highest number


class Spread(NamedTuple):
    """The least, the middle and the largest number of each head [h]."""

    least: np.ndarray
    middle: np.ndarray
    most: np.ndarray


def head_spread(
    heads: Sequence[int],
    spread: Spread,
    *,
    role: Role,
    axes: tuple[str, str],
    limits: tuple[float, float],
    log: bool = False,
    chosen: int | None = None,
    at: float | None = None,
    height: int = HEIGHT,
) -> Figure:
    """Return an upright bar a head, from the least to the most, with a mark at its middle.

    Args:
        heads: global numbers, in the order of the bars.
        spread: all within the limits.
        role: what picks the colour.
        axes: titles of the axes of heads and of the numbers.
        limits: ends of the axis of numbers.
        log: whether it is logarithmic; it prints decades then.
        chosen: the place of the head to stress.
        at: a number to mark by a dotted line.
        height: pixels.
    """
    limits = span(limits, spread.most, log=log)
    up = {"range": list(limits), "fixedrange": True, "nticks": 6, "gridcolor": MASKED}
    if log:
        shown = [one for one in DECADES if limits[0] <= one <= limits[1]]
        up |= {"type": "log", "range": np.log10(limits).tolist(), "tickvals": shown}
        up |= {"ticktext": [f"{one:,.6g}" for one in shown]}
    bars, across = _bars(heads, spread, role, axes, chosen), {"range": [-0.7, len(heads) - 0.3]}
    return figure(
        [bars],
        height=height,
        x=heads_axis(heads, axes[0]) | across,
        y=titled(axes[1]) | up,
        annotations=unplaced([bars], {}, across, up),
        shapes=[] if at is None else [level(at, {"color": MASKED, "dash": "dot", "width": 3})],
        **legend_above(shown=False, height=ROOM),
    )


def _bars(
    heads: Sequence[int], spread: Spread, role: Role, axes: tuple[str, str], chosen: int | None
) -> dict:
    least, middle, most = (np.asarray(one, dtype=np.float64) for one in spread)
    ends = placed(most) - placed(middle), placed(middle) - placed(least)
    up, down = map(np.nan_to_num, ends)
    reach = {"type": "data", "symmetric": False, "array": up}
    its, places = look(role), range(len(heads))
    return {
        "type": "scatter",
        "x": list(places),
        "y": middle,
        "mode": "markers",
        "name": axes[1],
        "customdata": np.stack([np.asarray(heads, dtype=np.float64), least, most], axis=-1),
        "error_y": reach | {"arrayminus": down, "thickness": 4, "width": 0},
        "marker": {
            "color": its.colour,
            "opacity": 1,
            "size": [CHOSEN if place == chosen else MARK for place in places],
        },
        "hovertemplate": f"{axes[0]} %{{customdata[0]:,}}<br>{axes[1]} %{{y:.3g}} "
        "(%{customdata[1]:.3g}–%{customdata[2]:.3g})<extra></extra>",
    }
