"""Levels over a chart of caches: heights in its unit, its own ticks."""

import numpy as np

from mla_engine.figures import cache_growth

CURVES = {str(n): np.array([n, 2 * n]) * 2**30 for n in range(1, 6)}


def test_a_level_lies_at_its_bytes_and_is_named():
    fig = cache_growth([1, 2], CURVES, levels={"left": 3e9}, unit="GB")
    line = fig.data[-1]
    assert (list(line.x), list(line.y)) == ([1, 2], [3, 3])
    assert list(line.text) == ["left", ""]
    assert not line.showlegend


def test_ticks_stand_where_they_are_wanted():
    axis = cache_growth([1, 2], CURVES, ticks=[1, 1024]).layout.xaxis
    assert (list(axis.tickvals), list(axis.ticktext)) == ([1, 1024], ["1", "1,024"])
