"""Names at the ends of lines, in the lines' own colours, in place of a legend."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.looks import Look
from mla_engine.figures.theme import FONT_SIZE

LONGEST = 12  # letters of a row; a longer name goes on in the next
GAP = 6  # pixels between a line's end and its name
LETTER, WIDE_LETTER, ROW = 9.7, 18, 20  # pixels that a letter and a row take
BETWEEN = 5  # pixels between two names
AT_EDGE = 0.97  # of the axis: what ends beyond has its name beside the plot
AXIS_ROOM = 62  # pixels below the plot for ticks and title


def name_ends(fig: go.Figure, looks: Mapping[str, Look], *, beside: bool = False) -> go.Figure:
    """Write each line's name behind its last point; returns `fig`.

    Args:
        fig: a chart whose axes have ranges; its lines are the traces of these names.
        looks: name -> how the line looks.
        beside: all names beside the plot, also of lines that end within it.
    """
    notes = [_note(fig, trace, looks[trace.name]) for trace in fig.data if trace.name in looks]
    if beside:
        notes = [note | {"x": float(fig.layout.xaxis.range[1])} for note in notes]
    fig.update_layout(annotations=[*fig.layout.annotations, *notes], showlegend=False)
    first, last = fig.layout.xaxis.range
    edge = first + AT_EDGE * (last - first)
    beyond = [_pixels(note["text"]) for note in notes if note["x"] >= edge]
    fig.update_layout(margin={"t": 12, "r": 2 * GAP + max(beyond, default=0)})
    return part_names(fig)


def part_names(fig: go.Figure) -> go.Figure:
    """Move names at one x apart, as little as it takes at the figure's height; returns `fig`."""
    notes = sorted((n for n in fig.layout.annotations if n.name == "end"), key=attrgetter("x"))
    bottom, top = fig.layout.yaxis.range if notes else (0, 1)
    room = fig.layout.height - fig.layout.margin.t - AXIS_ROOM
    for _, group in groupby(notes, key=attrgetter("x")):
        here = sorted(group, key=attrgetter("y"))
        wanted = [(note.y - bottom) / (top - bottom) * room for note in here]
        heights = [BETWEEN + ROW * (1 + note.text.count("<br>")) for note in here]
        for note, at, place in zip(here, wanted, apart(wanted, heights, room), strict=True):
            note.yshift = place - at
    return fig


def apart(wanted: Sequence[float], heights: Sequence[float], room: float) -> list[float]:
    """Middles of boxes stacked upwards within 0 and `room`, near where they are wanted.

    Boxes that would overlap become one block around the mean of what they want.
    """
    blocks: list[tuple[list[int], float]] = []  # members, and the block's middle
    for i, place in enumerate(wanted):
        blocks.append(([i], place))
        while True:
            members, _ = blocks.pop()
            height = sum(heights[k] for k in members)
            middle = float(np.mean([wanted[k] for k in members]))
            middle = max(min(middle, room - height / 2), height / 2)
            if not blocks or _top(blocks[-1], heights) <= middle - height / 2 + 1e-9:
                blocks.append((members, middle))
                break
            before, _ = blocks.pop()
            blocks.append((before + members, middle))
    places = {}
    for members, middle in blocks:
        at = middle - sum(heights[k] for k in members) / 2
        for k in members:
            places[k] = at + heights[k] / 2
            at += heights[k]
    return [places[k] for k in range(len(wanted))]


def _top(block: tuple[list[int], float], heights: Sequence[float]) -> float:
    members, middle = block
    return middle + sum(heights[k] for k in members) / 2


def _note(fig: go.Figure, trace: go.Scatter, look: Look) -> dict:
    """A name behind the last point that is drawn, or at the foot where none is."""
    heights = np.asarray(trace.y, dtype=np.float64)
    log = fig.layout.yaxis.type == "log"
    seen = np.flatnonzero(heights > 0 if log else np.isfinite(heights))
    last = int(seen[-1]) if seen.size else len(heights) - 1
    x = np.log10(trace.x[last]) if fig.layout.xaxis.type == "log" else trace.x[last]
    y = fig.layout.yaxis.range[0]
    if seen.size:
        y = np.log10(heights[last]) if log else heights[last]
    return {
        "name": "end",
        "x": float(x),
        "y": float(y),
        "text": "<br>".join(look.worded(f"<b>{row}</b>") for row in rows(trace.name)),
        "showarrow": False,
        "xanchor": "left",
        "xshift": GAP,
        "align": "left",
        "font": {"size": FONT_SIZE},
    }


def rows(name: str) -> list[str]:
    """A name in short rows; tags stay whole, and words of Chinese break anywhere."""
    if "<" in name:
        return [name]
    parts = re.split(r"(?<=[，：])", name)
    return [row for part in parts for row in wrap(part, LONGEST, break_long_words=False)]


def _pixels(text: str) -> float:
    """About the width of a note's longest row."""
    lines = [re.sub("<.*?>", "", row) for row in text.split("<br>")]
    return max(sum(WIDE_LETTER if ord(c) > 0x1FFF else LETTER for c in row) for row in lines)
