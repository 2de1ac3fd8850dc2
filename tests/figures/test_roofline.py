"""Rooflines: the roof bends at the ridge, marks stand where their numbers say."""

import pytest

from mla_engine.figures import roofline

RATES = (1e15, 5e12)  # ridge at 200
CALLS = {"MHA": (1.0, 5e12), "MLA": (400.0, 1e15)}


def test_marks_differ_by_symbol_and_measured_ones_are_hollow():
    fig = roofline(RATES, CALLS, measured={"MLA": (400.0, 3e14)}, below="{name}, measured")
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
    assert fig.layout.shapes[0].x0 == 0.1
    assert fig.layout.xaxis.type == fig.layout.yaxis.type == "log"
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
