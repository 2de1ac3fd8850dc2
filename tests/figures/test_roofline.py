"""Rooflines and crossings: the roof bends at the ridge, marks stand where their numbers say."""

import numpy as np
import pytest

from mla_engine.figures import crossing, roofline

RATES = (1e15, 5e12)  # ridge at 200
CALLS = {"MHA": (1.0, 5e12), "MLA": (400.0, 1e15)}


def test_the_roof_bends_at_the_ridge():
    fig = roofline(RATES, CALLS, ridge="ridge 200")
    roof = fig.data[0]
    assert list(roof.x) == [0.1, 200, 1e4]
    assert list(roof.y) == pytest.approx([0.5, 1000, 1000])
    assert fig.layout.shapes[0].x0 == 200
    assert fig.layout.annotations[0].text == "ridge 200"
    assert fig.layout.annotations[0].x == pytest.approx(np.log10(200))
    assert fig.layout.xaxis.type == fig.layout.yaxis.type == "log"


def test_marks_differ_by_symbol_and_measured_ones_are_hollow():
    fig = roofline(RATES, CALLS, measured={"MLA": (400.0, 3e14)}, below="measured")
    mha, mla, taken = fig.data[1:]
    assert (mha.x[0], mha.y[0]) == (1.0, 5.0)
    assert (mla.x[0], mla.y[0]) == (400.0, 1000.0)
    assert (taken.name, taken.y[0]) == ("MLA, measured", 300.0)
    assert taken.marker.symbol == f"{mla.marker.symbol}-open"
    assert taken.marker.color == mla.marker.color != mha.marker.color
    assert mha.marker.symbol != mla.marker.symbol
    assert [trace.showlegend for trace in fig.data] == [False, True, True, False]


def test_a_ridge_off_the_chart_stays_at_its_edge():
    fig = roofline((1e9, 1e12), {})
    assert list(fig.data[0].x) == [0.1, 0.1, 1e4]
    assert list(fig.data[0].y) == pytest.approx([1e-3] * 3)


def test_a_call_beyond_the_axis_lengthens_it_by_decades():
    axes = [
        roofline(RATES, {"MLA": (intensity, 1e15)}).layout.xaxis
        for intensity in (9.0, 5e3, 14_097.0, 124_690.0)
    ]
    assert [axis.range for axis in axes] == [pytest.approx((-1, top)) for top in (4, 4, 5, 6)]
    assert [axis.dtick for axis in axes] == [1, 1, 2, 2]
    assert list(roofline(RATES, {"MLA": (2e5, 1e15)}).data[0].x) == [0.1, 200, 1e6]


def test_a_crossing_is_ringed_and_the_readers_place_marked():
    lines = {"a": np.array([1, 2, 4]), "b": np.array([3, 3, 3])}
    fig = crossing([1, 2, 4], lines, titles=("n", "FLOP"), cross=(3, 7.0), label="3", here=2)
    assert [list(trace.y) for trace in fig.data] == [[1, 2, 4], [3, 3, 3], [7.0]]
    assert (fig.data[2].x[0], fig.data[2].text[0]) == (3, "<b>3</b>")
    assert fig.data[0].line.dash != fig.data[1].line.dash
    assert fig.layout.shapes[0].x0 == 2
    assert fig.layout.xaxis.title.text == "n"
