"""Names at the ends of lines, in the lines' own colours, in place of a legend."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
from textwrap import wrap

import numpy as np

from mla_engine.figures.figure import Figure, figure
from mla_engine.figures.looks import Look
from mla_engine.figures.placed import notes as unplaced
from mla_engine.figures.placed import placed
from mla_engine.figures.theme import FONT

LONGEST = 12  # letters of a row; a longer name goes on in the next
GAP = 6  # pixels between a line's end and its name
LETTER, WIDE_LETTER, ROW = 9.7, 18, 20  # pixels that a letter and a row take
BETWEEN, MARKS = 5, 5  # pixels between two names, and what marks above and below a symbol add
AT_EDGE = 0.97  # of the axis: what ends beyond has its name beside the plot
AXIS_ROOM = 62  # pixels below the plot for ticks and title
LOWEST_PLOT = 100  # pixels, below a list of what is drawn


def named_lines(
    traces: Sequence[dict],
    looks: Mapping[str, Look],
    x: Mapping,
    y: Mapping,
    *,
    height: int,
    beside: bool = False,
    notes: Sequence[dict] = (),
    **layout: object,
) -> Figure:
    """Return a figure of lines with each line's name behind its last point.

    Args:
        traces: of these names are the lines.
        looks: name -> how the line looks.
        x: the x axis, with its range.
        y: the same of the y axis.
        height: pixels.
        beside: all names beside the plot, also of lines that end within it.
        notes: what else is written.
        layout: all else that `figure` takes.
    """
    first, last = x["range"]
    ends = [_note(line, looks[line["name"]], x, y) for line in traces if line.get("name") in looks]
    if beside:
        ends = [note | {"x": float(last)} for note in ends]
    edge = first + AT_EDGE * (last - first)
    beyond = [_pixels(note["text"]) for note in ends if note["x"] >= edge]
    layout["margin"] = {"t": 12, "r": 2 * GAP + max(beyond, default=0)}
    lost, room = unplaced(traces, looks, x, y), height - layout["margin"]["t"]
    layout["annotations"] = _parted([*notes, *lost, *ends], y["range"], room)
    return figure(traces, height=height, x=x, y=y, showlegend=False, **layout)


def resized(fig: Figure, height: int) -> Figure:
    """Return the same figure at another height in pixels, the names at its lines spread again.

    It is made no lower than the names of its lines, or of its bars, one above the other need.
    """
    spec = fig.spec or fig.to_dict()
    height = max(height, min(spec["layout"]["height"], _least(spec)))
    layout = spec["layout"] | {"height": height}
    if notes := layout.get("annotations"):
        room = height - layout["margin"]["t"]
        layout["annotations"] = _parted(notes, layout["yaxis"].get("range"), room)
    return Figure(spec | {"layout": layout})


def _least(spec: Mapping) -> int:
    """Count the pixels that a figure's names need above one another, with all around them."""
    layout = spec["layout"]
    ends = _at_one_end(layout.get("annotations", ()))
    stacks = [sum(_height(note["text"]) for note in group) for group in ends]
    if any(trace["type"] == "bar" for trace in spec["data"]):
        stacks.append(_rows_of_bars(spec))
    above = layout["margin"]["t"]
    if layout.get("showlegend") is not False and layout.get("legend", {}).get("entrywidth"):
        listed = sum(trace.get("showlegend", True) for trace in spec["data"])
        above = max(above, (ROW + BETWEEN) * listed)  # perhaps in one column
        stacks.append(LOWEST_PLOT)
    return above + AXIS_ROOM + max(stacks, default=0)


def _rows_of_bars(spec: Mapping) -> int:
    """Count the pixels of all rows, each as high as its name and the text at its end need."""
    names = spec["layout"]["yaxis"].get("ticktext") or ()
    texts = next((one["text"] for one in spec["data"] if one.get("mode") == "text"), ())
    return sum(
        max(_height(name) + MARKS * ("<su" in name), _height(text))
        for name, text in zip_longest(names, texts, fillvalue="")
    )


def _parted(notes: Sequence[dict], ends: Sequence[float], height: float) -> list[dict]:
    """Move the names at one x apart, as little as it takes at this height; return all notes."""
    room, shifts = height - AXIS_ROOM, {}
    for here in _at_one_end(notes):
        wanted = [(note["y"] - ends[0]) / (ends[1] - ends[0]) * room for note in here]
        heights = [_height(note["text"]) for note in here]
        for note, at, place in zip(here, wanted, apart(wanted, heights, room), strict=True):
            shifts[id(note)] = {"yshift": place - at}
    return [note | shifts.get(id(note), {}) for note in notes]


def _at_one_end(notes: Sequence[dict]) -> list[list[dict]]:
    """Return the names at each x, upwards."""
    names = sorted((n for n in notes if n.get("name") == "end"), key=itemgetter("x", "y"))
    return [list(group) for _, group in groupby(names, key=itemgetter("x"))]


def _height(text: str) -> int:
    """Count the pixels of a name, and of the space to the next."""
    return BETWEEN + ROW * (1 + text.count("<br>"))


def apart(wanted: Sequence[float], heights: Sequence[float], room: float) -> list[float]:
    """Return the middles of boxes stacked upwards within 0 and `room`, near where they are wanted.

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


def _note(trace: Mapping, look: Look, x: Mapping, y: Mapping) -> dict:
    """Return a name behind the last point that is drawn, or at the foot where none is."""
    log = y.get("type") == "log"
    heights = placed(trace["y"], log=log)
    seen = np.flatnonzero(np.isfinite(heights))
    last = int(seen[-1]) if seen.size else len(heights) - 1
    across, up = trace["x"][last], y["range"][0]
    if seen.size:
        up = np.log10(heights[last]) if log else heights[last]
    return {
        "name": "end",
        "x": float(np.log10(across) if x.get("type") == "log" else across),
        "y": float(up),
        "text": "<br>".join(look.worded(f"<b>{row}</b>") for row in rows(trace["name"])),
        "showarrow": False,
        "xanchor": "left",
        "xshift": GAP,
        "align": "left",
        "font": FONT,
    }


def rows(name: str) -> list[str]:
    """Return a name in short rows; tags stay whole, and words of Chinese break anywhere."""
    if "<" in name:
        return [name]
    parts = re.split(r"(?<=[，：])", name)
    return [row for part in parts for row in _rows(part)]


def _rows(part: str) -> list[str]:
    if not any(_is_wide(letter) for letter in part):
        return wrap(part, LONGEST, break_long_words=False)
    pieces = re.findall(r"[\x21-\u1fff]+|.", part.strip())  # a word, or one wide letter
    most = _width(part.strip()) / math.ceil(_width(part.strip()) / (LONGEST * LETTER))
    found = [""]
    for piece in pieces:
        full = _width(found[-1]) + _width(piece) / 2 > most  # of about the same width
        found = [*found, piece] if full and found[-1] else [*found[:-1], found[-1] + piece]
    return [row.strip() for row in found if row.strip()]


def _pixels(text: str) -> float:
    """Estimate the width of a note's longest row."""
    return max(_width(re.sub("<.*?>", "", row)) for row in text.split("<br>"))


def _width(row: str) -> float:
    return sum(WIDE_LETTER if _is_wide(letter) else LETTER for letter in row)


def _is_wide(letter: str) -> bool:
    return ord(letter) > 0x1FFF
