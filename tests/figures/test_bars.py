"""Bars and spectra: what stands out, ends and axes."""

import numpy as np
import pytest

from mla_engine.figures import bars, ratio_bars, spectrum
from mla_engine.figures.looks import faded, look
from tests.refusals import refusing

PARTS = {"bracket": (2.0, 5.0), "then": (1.0, 8.0)}


def test_a_part_can_have_a_pattern_of_its_own_whatever_its_place():
    fig = bars(["a", "b"], PARTS, roles=[("key", "+"), "latent"])
    assert [trace.marker.pattern.shape for trace in fig.data] == ["+", "/"]
    assert [trace.marker.color for trace in fig.data] == [look("key").colour, look("latent").colour]


def test_an_amount_is_marked_across_all_rows():
    assert not bars(["a", "b"], PARTS).layout.shapes
    (mark,) = bars(["a", "b"], PARTS, at=7.5).layout.shapes
    assert (mark.x0, mark.x1, mark.y0, mark.y1, mark.yref) == (7.5, 7.5, 0, 1, "y domain")


def test_the_chosen_row_stands_out():
    first, *_ = bars(["a", "b"], PARTS, chosen=1).data
    own = look(0).colour
    assert first.marker.color == (faded(own), own)


def test_a_logarithmic_axis_takes_bars_side_by_side():
    fig = bars(["a", "b"], PARTS, stacked=False, log=True, limits=(1e-3, 10))
    assert fig.layout.barmode == "group"
    assert fig.layout.xaxis.type == "log"
    assert fig.layout.xaxis.range == (-3, 1)
    with refusing("stacked_log"):
        bars(["a", "b"], PARTS, log=True)


def test_rounding_far_below_is_cut_off_and_zeros_do_no_harm():
    fig = spectrum({"W": np.array([1.0, 1e-40, 0.0])}, decades=12)
    assert fig.layout.yaxis.range[0] > -12
    assert spectrum({"W": np.zeros(3)}).layout.yaxis.range[0] < 0


def test_ratios_to_either_side_of_one():
    fig = ratio_bars("ratio", {"less": 0.5, "more": 4.0}, ["half", "four times"])
    assert fig.data[0].base == 1
    assert fig.data[0].x.tolist() == [-0.5, 3.0]
    assert list(fig.data[1].x) == [1.0, 4.0]
    assert fig.layout.xaxis.type == "log"
    assert fig.layout.xaxis.range == pytest.approx(np.log10([0.5 / 1.5, 80]))
    assert fig.layout.xaxis.dtick == 1
