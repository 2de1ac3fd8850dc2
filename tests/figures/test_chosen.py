"""Keys that are read and keys that are not: what was handed in is what is drawn, both ways."""

import numpy as np
import pytest

from mla_engine.figures import chosen_keys, crossing
from mla_engine.figures.looks import faded

KEYS = ("anna", "<b>lamp</b>", "2024")
HALVES = {"indexer": np.array([50.0, 30.0, 20.0]), "heads": np.array([10.0, 25.0, 65.0])}
READ = np.array([True, False, True])


def drawn(**options):
    return chosen_keys(
        KEYS, HALVES, READ, titles=("key", "share"), said=("read", "not read"), **options
    )


def test_the_first_name_goes_up_and_the_second_down():
    up, down, *_ = drawn().data
    assert (up.name, down.name) == ("indexer", "heads")
    np.testing.assert_array_equal(up.y, HALVES["indexer"])
    np.testing.assert_array_equal(down.y, -HALVES["heads"])
    assert [row[2] for row in down.customdata] == HALVES["heads"].tolist()


def test_what_is_read_stands_out_by_more_than_its_colour():
    fig = drawn()
    for bars in fig.data[:2]:
        own = bars.marker.color[0]
        assert bars.marker.color == (own, faded(own), own)
        assert [bool(shape) for shape in bars.marker.pattern.shape] == [False, True, False]
        assert [row[1] for row in bars.customdata] == ["read", "not read", "read"]
    assert [(shape.x0, shape.x1) for shape in fig.layout.shapes] == [(-0.5, 0.5), (1.5, 2.5)]
    first, second, third = fig.layout.xaxis.ticktext
    assert (first, third) == ("<b>anna</b>", "<b>2024</b>")
    assert "<b>" not in second


def test_the_axis_counts_from_the_middle_in_both_ways():
    axis = drawn().layout.yaxis
    assert axis.range == (-80, 80)
    assert list(axis.ticktext) == ["80", "40", "0", "40", "80"]


@pytest.mark.parametrize(("most", "end"), [(19.0, 20), (41.0, 60), (100.0, 100)])
def test_the_ends_are_round(most, end):
    few = {name: np.array([most, 0.0]) for name in HALVES}
    fig = chosen_keys(KEYS[:2], few, READ[:2], titles=("", ""), said=("", ""))
    assert fig.layout.yaxis.range == (-end, end)


def test_the_legend_shows_each_name_once_in_full_colour():
    entries = [trace for trace in drawn().data if trace.showlegend is not False]
    assert [entry.name for entry in entries] == list(HALVES)
    assert len({entry.marker.color for entry in entries}) == 2


@pytest.mark.parametrize(("factor", "formatted"), [(1, "none"), (10**6, "power")])
def test_amounts_of_a_crossing_are_written_out_where_they_are_short(factor, formatted):
    lines = {"a": factor * np.array([0.1, 9.0]), "b": factor * np.array([0.2, 2.0])}
    axis = crossing([1, 100], lines, titles=("x", "y")).layout.yaxis
    assert axis.exponentformat == formatted


@pytest.mark.parametrize(("keys", "angle"), [(("(", "[", "}"), 0), (("lamp",) * 9, 90)])
def test_words_stand_upright_where_a_phone_has_no_room_for_them_in_a_row(keys, angle):
    halves = {name: np.full(len(keys), 10.0) for name in HALVES}
    fig = chosen_keys(keys, halves, np.ones(len(keys)), titles=("", ""), said=("", ""))
    assert fig.layout.xaxis.tickangle == angle


@pytest.mark.parametrize(
    ("place", "label", "stands"),
    [
        (2, "arithmetic limits from 2 on", "bottom right"),
        (20, "arithmetic limits from 20 on", "top left"),
        (20, "20", "bottom right"),
        (98, "98", "top left"),
    ],
)
def test_the_label_of_a_crossing_is_never_cut(place: int, label: str, stands: str):
    lines = {"a": np.array([1.0, 100.0]), "b": np.array([10.0, 20.0])}
    drawn = crossing([1, 100], lines, titles=("x", "y"), cross=(place, 15), label=label)
    assert drawn.data[-1].textposition == stands
