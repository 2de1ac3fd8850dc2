"""Means with their spreads: what is drawn is what was given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mla_engine.figures import Band, band_bars, band_lines, band_marks, look

LOOKS = {"MHA": look("mha"), "MLA": look("mla_absorbed"), "MQA": look("mqa")}


def band(x, mean, least, most):
    return Band(x, *(np.array(side, dtype=float) for side in (mean, least, most)))


MHA, MLA = band([128], [90], [88], [95]), band([16, 32], [40, 70], [30, 69], [45, 72])
MQA = band([32], [60], [50], [61])


def test_marks_stand_at_their_caches_side_by_side():
    fig = band_marks(
        {"MHA": MHA, "MQA": MQA, "MLA": MLA}, looks=LOOKS, titles=("cache", "right"),
        level=("guess", 12.5),
    )  # fmt: skip
    drawn = {trace.name: trace for trace in fig.data}
    for name in ("MHA", "MQA", "MLA"):
        assert drawn[name].marker.color == LOOKS[name].colour
        assert drawn[name].marker.symbol == LOOKS[name].mark
    assert drawn["MHA"].x[0] == pytest.approx(7), "alone at its place"
    assert drawn["MLA"].x[0] == pytest.approx(4)
    left, right = drawn["MQA"].x[0], drawn["MLA"].x[1]
    assert left < 5 < right, "side by side at 32"
    assert left + right == pytest.approx(10)
    assert fig.layout.xaxis.ticktext == ("16", "32", "128")
    assert_allclose(fig.layout.xaxis.tickvals, [4, 5, 7])
    assert [note.text for note in fig.layout.annotations] == ["guess"]


def test_single_measurements_are_thin_and_may_go_on_beyond_the_mean():
    singles = {"MLA": [([16, 32, 64], [4, 3, 2]), ([16, 32], [5, 4])]}
    fig = band_lines(
        {"MLA": MLA}, looks=LOOKS, titles=("step", "loss"), singles=singles, limits=(1, 100),
        log=True,
    )  # fmt: skip
    *thin, thick = fig.data
    assert all(t.line.width < thick.line.width for t in thin)
    assert {t.line.color for t in fig.data} == {LOOKS["MLA"].colour}
    assert thick.error_y.array is None
    assert fig.layout.xaxis.range[1] == 64
    assert fig.layout.yaxis.type == "log"
    assert_allclose(fig.layout.yaxis.range, (0, 2))


def test_bars_name_their_rows_from_the_top_and_leave_out_what_was_not_run():
    given = band([0, 1, 2], [90, np.nan, 40], [80, np.nan, 30], [95, np.nan, 60])
    fig = band_bars(
        ["a", "b", "c"], given, looks=list(LOOKS.values()), axis="right",
        totals=["90 %", "not run", "40 %"],
    )  # fmt: skip
    bar, texts = fig.data
    assert_allclose(bar.x - bar.error_x.arrayminus, given.least)
    assert_allclose(bar.x + bar.error_x.array, given.most)
    assert list(bar.marker.color) == [its.colour for its in LOOKS.values()]
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1]
    assert texts.x[0] > 95
    assert texts.x[2] > 60
    assert 0 <= texts.x[1] < 5


def test_names_of_lines_that_end_early_stand_beside_the_plot():
    ends = {"MHA": 1400, "MLA": 1800}
    bands = {name: band([0, 500, end], *[[3, 2, 1]] * 3) for name, end in ends.items()}
    fig = band_lines(bands, looks=LOOKS, titles=("step", "loss"), limits=(0, 4))
    notes = [note for note in fig.layout.annotations if note.name == "end"]
    assert [note.x for note in notes] == [1800, 1800]
    assert len({note.yshift for note in notes}) == 2, "apart from each other"
    assert fig.layout.xaxis.nticks == 5, "for numbers of four digits"
