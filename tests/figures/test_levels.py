"""Levels over a chart of caches: heights in its unit, one solid line, its own ticks."""

import numpy as np

from mla_engine.figures import add_levels, cache_growth, stress_line, ticks_at

CURVES = {str(n): np.array([n, 2 * n]) * 2**30 for n in range(1, 6)}


def test_a_level_lies_at_its_bytes_and_is_named():
    fig = add_levels(cache_growth([1, 2], CURVES), {"left": 3e9}, ends=(1, 2), unit="GB")
    line = fig.data[-1]
    assert (list(line.x), list(line.y)) == ([1, 2], [3, 3])
    assert list(line.text) == ["left", ""]
    assert not line.showlegend


def test_only_the_stressed_line_is_solid():
    for name in CURVES:
        lines = stress_line(cache_growth([1, 2], CURVES), name).data
        assert [t.name for t in lines if t.line.dash == "solid"] == [name]
        assert len({(t.line.dash, t.line.color) for t in lines}) == len(CURVES)
    two = {name: CURVES[name] for name in ("1", "2")}
    assert [t.line.dash for t in stress_line(cache_growth([1, 2], two), "2").data][1] == "solid"


def test_ticks_stand_where_they_are_wanted():
    axis = ticks_at(cache_growth([1, 2], CURVES), [1, 1024]).layout.xaxis
    assert (list(axis.tickvals), list(axis.ticktext)) == ([1, 1024], ["1", "1,024"])
