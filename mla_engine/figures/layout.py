"""Places for the boxes of a data flow: layers by depth, and lanes for arrows that pass a layer.

An arrow that skips layers gets a lane of its own in each of them (Sugiyama, Tagawa and Toda 1981),
so that no arrow runs through a box.
"""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kvcount.refusals import RefusedError

LANE_WIDTH = 0.22  # of a box
SWEEPS = 12

Edge = tuple[str, str]


@dataclass(frozen=True)
class Layout:
    """Places in units of a box: x of its middle, depth of its layer from 0 at the top."""

    places: dict[str, tuple[float, int]]
    routes: dict[Edge, list[tuple[float, int]]]  # the lanes that an arrow passes, in order
    width: float
    depth: int


def arrange(codes: Sequence[str], edges: Sequence[Edge]) -> Layout:
    """Lay out a graph without cycles.

    Args:
        codes: the boxes, each after all the boxes it reads.
        edges: (from, to) pairs of codes.

    Raises:
        ValueError: an edge names no box, or runs backwards.
    """
    depths = _depths(codes, edges)
    lanes = {(a, b): [f"{a}>{b}@{d}" for d in range(depths[a] + 1, depths[b])] for a, b in edges}
    layers: dict[int, list[str]] = defaultdict(list)
    for code in codes:
        layers[depths[code]].append(code)
    for (a, _), names in lanes.items():
        for step, name in enumerate(names, start=depths[a] + 1):
            layers[step].append(name)
    chains = [[a, *lanes[a, b], b] for a, b in edges]
    links = [pair for chain in chains for pair in itertools.pairwise(chain)]
    near: dict[str, list[str]] = defaultdict(list)
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    rows = _ordered([layers[d] for d in range(len(layers))], links, near)
    xs, width = _spread(rows, set(codes), near)
    return Layout(
        {code: (xs[code], depths[code]) for code in codes},
        {
            (a, b): [(xs[name], depths[a] + 1 + i) for i, name in enumerate(names)]
            for (a, b), names in lanes.items()
        },
        width,
        len(rows),
    )


def _depths(codes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Return the longest way from a source, which puts every box below all that it reads."""
    order = {code: i for i, code in enumerate(codes)}
    for a, b in edges:
        if a not in order or b not in order or order[a] >= order[b]:
            raise RefusedError("edge", start=a, end=b)
    depths: dict[str, int] = {}
    for code in codes:
        above = [depths[a] + 1 for a, b in edges if b == code]
        depths[code] = max(above, default=0)
    return depths


def _ordered(
    rows: list[list[str]], links: list[Edge], near: dict[str, list[str]]
) -> list[list[str]]:
    """Sort each layer by the mean place of its neighbours, up and down until it settles."""
    best, fewest = rows, crossings(rows, links)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        rows = [list(row) for row in rows]
        for depth in order:
            fixed = rows[depth - 1 if down else depth + 1]
            place = {name: (i + 0.5) / len(fixed) for i, name in enumerate(fixed)}
            here = {name: (i + 0.5) / len(rows[depth]) for i, name in enumerate(rows[depth])}

            def mean(name: str, place: dict = place, here: dict = here) -> float:
                seen = [place[other] for other in near[name] if other in place]
                return sum(seen) / len(seen) if seen else here[name]

            rows[depth].sort(key=mean)
        if crossings(rows, links) < fewest:
            best, fewest = rows, crossings(rows, links)
    return best


def crossings(rows: Sequence[Sequence[str]], links: Sequence[Edge]) -> int:
    """Count the pairs of links between neighbouring layers that cross."""
    place = {name: (depth, i) for depth, row in enumerate(rows) for i, name in enumerate(row)}
    spans = [(place[a][0], place[a][1], place[b][1]) for a, b in links]
    return sum(
        d1 == d2 and (a1 - a2) * (b1 - b2) < 0
        for i, (d1, a1, b1) in enumerate(spans)
        for d2, a2, b2 in spans[:i]
    )


def _spread(
    rows: list[list[str]], boxes: set[str], near: dict[str, list[str]]
) -> tuple[dict[str, float], float]:
    """Return the middle of every box and lane: evenly spread, then drawn towards its neighbours."""
    sizes = {name: 1.0 if name in boxes else LANE_WIDTH for row in rows for name in row}
    width = max(sum(sizes[name] for name in row) for row in rows)
    xs = {}
    for row in rows:
        spare = (width - sum(sizes[name] for name in row)) / (len(row) + 1)
        left = spare
        for name in row:
            xs[name] = left + sizes[name] / 2
            left += sizes[name] + spare
    for row in [*rows, *rows[::-1]] * SWEEPS:
        for name in row:
            xs[name] = sum(xs[other] for other in near[name]) / max(len(near[name]), 1)
        _part(row, sizes, xs, width)
    return xs, width


def _part(row: list[str], sizes: dict[str, float], xs: dict[str, float], width: float) -> None:
    """Push a layer's places apart, in their order, until none overlap and all are inside."""
    least = 0.0
    for name in row:
        xs[name] = max(xs[name], least + sizes[name] / 2)
        least = xs[name] + sizes[name] / 2
    most = width
    for name in reversed(row):
        xs[name] = min(xs[name], most - sizes[name] / 2)
        most = xs[name] - sizes[name] / 2
