"""Lines over a context, a rank or whole numbers: drawn where their numbers are."""

import numpy as np
import pytest

from mla_engine.figures import cache_growth, curves, over_rank, right_answers

CONTEXTS = [1024, 4096]
CURVES = {"MHA": np.array([2**30, 2**32]), "MLA": np.array([2**20, 2**22])}
RANKS = [0, 4, 16]
LINES = {"keys": np.array([100.0, 20.0, 0.0]), "values": np.array([100.0, 30.0, 0.0])}


def test_a_million_tokens_are_short_on_a_logarithmic_axis():
    axis = cache_growth(CONTEXTS, CURVES).layout.xaxis
    texts = dict(zip(axis.tickvals, axis.ticktext, strict=True))
    assert [texts[10**power] for power in (3, 5, 6, 9)] == ["1k", "100k", "1M", "1,000M"]
    assert cache_growth(CONTEXTS, CURVES, log=False).layout.xaxis.tickvals is None
    many = cache_growth([64, 2**20], CURVES).layout.xaxis  # whose every decade has no room
    assert list(many.ticktext[:4]) == ["1", "100", "10k", "1M"]


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match=r"unit \('GiBi'\) must be one of B, KiB"):
        cache_growth(CONTEXTS, CURVES, unit="GiBi")


def test_a_level_lies_at_its_bytes_and_is_named_and_ticks_stand_where_they_are_wanted():
    many = {str(n): np.array([n, 2 * n]) * 2**30 for n in range(1, 6)}
    fig = cache_growth([1, 2], many, levels={"left": 3e9}, unit="GB", ticks=[1, 1024])
    line, axis = fig.data[-1], fig.layout.xaxis
    assert (list(line.x), list(line.y)) == ([1, 2], [3, 3])
    assert list(line.text) == ["left", ""]
    assert not line.showlegend
    assert (list(axis.tickvals), list(axis.ticktext)) == ([1, 1024], ["1", "1,024"])


def test_zero_is_written_at_the_foot_of_a_logarithmic_axis():
    fig = over_rank(RANKS, LINES, titles=("r", "%"), log=True)
    assert fig.layout.yaxis.type == "log"
    low, _ = fig.layout.yaxis.range
    zeros = [note for note in fig.layout.annotations if note.name == "unplaced"]
    assert [(note.x, note.y, note.text) for note in zeros] == [(16, low, "<b>0</b>")]  # of both
    assert not fig.layout.shapes


@pytest.mark.parametrize(("draw", "count"), [(curves, 3), (over_rank, 5)])
def test_more_lines_than_styles_are_refused(draw, count):
    with pytest.raises(ValueError, match=f"{count} lines"):
        draw([0], dict.fromkeys("abcde"[:count], np.zeros(1)), titles=("", ""))


def test_the_size_that_one_was_trained_with_is_marked_on_its_line():
    lines = {"cut": np.array([10.0, 60.0, 90.0]), "small": np.array([np.nan, 99.0, np.nan])}
    options = {"roles": ("mha", "mla_absorbed"), "titles": ("n", "%"), "at": 16}
    fig = right_answers(RANKS, lines, marked=("small", "trained with 4"), **options)
    cut, small, mark = fig.data
    assert "trained with" in mark.text[0]
    assert mark.marker.color == small.line.color != cut.line.color
    ends = [note.text for note in fig.layout.annotations if note.name == "end"]
    assert len(ends) == 1
    assert "cut" in ends[0]
    assert fig.layout.yaxis.range[1] > 100


def test_two_curves_differ_by_more_than_their_colour():
    lines = {"before": np.array([1.0, 0.1]), "after": np.array([1.0, 0.01])}
    fig = curves([0, 1], lines, titles=("pair", "rad"), log=True, band=(0.5, 1), at=1)
    assert len({trace.line.dash for trace in fig.data}) == 2
    assert [(shape.x0, shape.x1) for shape in fig.layout.shapes] == [(0.5, 1), (1, 1)]
