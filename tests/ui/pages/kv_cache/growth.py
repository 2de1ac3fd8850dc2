"""A chart of caches that grow, as it has to be drawn."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.ui.pages.kv_cache.side import Side
from tests.ui.screen import Chart

BELOW, ABOVE = 0.5, 2  # room around the curves on a logarithmic axis


def growth(
    chart: Chart,
    one: Side,
    curves: Mapping[str, Sequence[float]],
    other: Mapping[str, Sequence[float]],
    *,
    places: Sequence[int],
    at: int,
    x: str = "context length, tokens",
    y: str = "cache",
    top: float = 0,
    limit: float = 0,
) -> None:
    """A chart of lines: their names, order, places, bytes, hover, axes and the marked place."""
    lines = [trace for trace in chart.traces if trace["mode"] == "lines"]
    assert [line["name"] for line in lines] == list(curves)
    for line, (name, held) in zip(lines, curves.items(), strict=True):
        assert list(chart.values(line, "x")) == list(places), name
        assert chart.values(line, "y") * one.in_unit == pytest.approx(np.array(held)), name
        hover = f"{name}<br>{x} %{{x:,}}<br>%{{y:,.4g}} {one.unit}<extra></extra>"
        assert line["hovertemplate"] == hover
    assert (chart.axis("x"), chart.axis("y")) == (x, f"{y}, {one.unit}")
    both = np.array([n for group in (curves, other) for line in group.values() for n in line])
    if one.log:
        ends = np.log10(
            [both.min() * BELOW / one.in_unit, max(both.max(), top) * ABOVE / one.in_unit]
        )
    else:
        ends = [0, (limit or both.max() * 1.05) / one.in_unit]
    assert chart.layout["yaxis"]["range"] == pytest.approx(list(ends))
    kind = "log" if one.log else "linear"
    assert (chart.layout["xaxis"]["type"], chart.layout["yaxis"]["type"]) == (kind, kind)
    (mark,) = chart.layout["shapes"]
    assert (mark["x0"], mark["x1"]) == (at, at)
