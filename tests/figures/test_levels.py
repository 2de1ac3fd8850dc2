"""Levels over a chart of caches: heights in its unit, its own ticks."""

import numpy as np

from mla_engine.figures import add_levels, cache_growth, ticks_at

CURVES = {str(n): np.array([n, 2 * n]) * 2**30 for n in range(1, 6)}


def test_a_level_lies_at_its_bytes_and_is_named():
    fig = add_levels(cache_growth([1, 2], CURVES), {"left": 3e9}, ends=(1, 2), unit="GB")
    line = fig.data[-1]
    assert (list(line.x), list(line.y)) == ([1, 2], [3, 3])
    assert list(line.text) == ["left", ""]
    assert not line.showlegend


def test_ticks_stand_where_they_are_wanted():
    axis = ticks_at(cache_growth([1, 2], CURVES), [1, 1024]).layout.xaxis
    assert (list(axis.tickvals), list(axis.ticktext)) == ([1, 1024], ["1", "1,024"])
