"""Bars of how far a number spreads within each head: read back from the figure."""

import numpy as np
import pytest

from mla_engine.figures import COLOURS, Spread, head_spread

SPREAD = Spread(np.array([0.5, 2.0, 1.0]), np.array([1.0, 20.0, 1.0]), np.array([4.0, 90.0, 1.0]))
AXES = ("head", "tokens")


def drawn(heads=(4, 5, 9), **options):
    options = {"role": "key", "axes": AXES, "limits": (0.1, 1000.0)} | options
    return head_spread(heads, SPREAD, **options)


def test_a_bar_goes_from_the_least_to_the_most_with_a_mark_at_the_middle():
    [marks] = drawn().data
    assert list(marks.x) == [0, 1, 2]
    assert marks.y == pytest.approx(SPREAD.middle)
    assert marks.y - marks.error_y.arrayminus == pytest.approx(SPREAD.least)
    assert marks.y + marks.error_y.array == pytest.approx(SPREAD.most)
    assert marks.marker.color == COLOURS["key"]
    np.testing.assert_allclose(marks.customdata.T, [[4, 5, 9], SPREAD.least, SPREAD.most])
    assert "head %{customdata[0]:,}<br>tokens %{y:.3g}" in marks.hovertemplate


def test_a_logarithmic_axis_prints_decades_and_marks_a_number():
    fig = drawn(log=True, at=100.0)
    up = fig.layout.yaxis
    assert (up.type, list(up.range)) == ("log", [-1, 3])
    assert list(up.tickvals) == pytest.approx([0.1, 1, 10, 100, 1000])
    assert list(up.ticktext) == ["0.1", "1", "10", "100", "1,000"]
    [line] = fig.layout.shapes
    assert (line.y0, line.y1) == (100, 100), "a shape stands at the number itself"
    assert not drawn(log=True).layout.shapes


def test_a_linear_axis_has_its_limits_and_the_chosen_head_a_larger_mark():
    fig = drawn(limits=(0, 90), chosen=1)
    assert fig.layout.yaxis.type is None
    assert list(fig.layout.yaxis.range) == [0, 90]
    sizes = fig.data[0].marker.size
    assert sizes[1] > sizes[0] == sizes[2]
    assert list(fig.layout.xaxis.ticktext) == ["4", "5", "9"]
    assert (fig.layout.xaxis.title.text, fig.layout.yaxis.title.text) == AXES
