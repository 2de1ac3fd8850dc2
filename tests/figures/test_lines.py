"""Cache curves: bytes become the unit, measured points lie on their curve, limits are shared."""

import numpy as np
import pytest

from mla_engine.figures import cache_growth

CONTEXTS = [1024, 4096]
CURVES = {"MHA": np.array([2**30, 2**32]), "MLA": np.array([2**20, 2**22])}


def test_bytes_are_drawn_in_the_unit_that_the_axis_names():
    fig = cache_growth(CONTEXTS, CURVES, unit="MiB")
    assert list(fig.data[0].y) == [1024, 4096]
    assert list(fig.data[1].y) == [1, 4]
    assert list(fig.data[0].x) == CONTEXTS
    assert fig.layout.yaxis.title.text == "cache, MiB"
    assert cache_growth(CONTEXTS, CURVES, unit="GB").data[0].y[0] == pytest.approx(1.073741824)


def test_measured_points_share_the_colour_of_their_curve():
    fig = cache_growth(CONTEXTS, CURVES, points={"MLA": ([1024], [2**20])}, unit="MiB")
    curve, dots = fig.data[1], fig.data[2]
    assert dots.mode == "markers"
    assert list(dots.x) == [1024]
    assert list(dots.y) == [1]
    assert dots.marker.color == curve.line.color
    assert not fig.layout.showlegend, "names stand at the lines' ends"
    ends = {note.y: note.text for note in fig.layout.annotations}
    assert [">MHA<" in ends[np.log10(4096)], ">MLA<" in ends[np.log10(4)]] == [True, True]


def test_the_chosen_length_is_marked():
    assert not cache_growth(CONTEXTS, CURVES).layout.shapes
    (line,) = cache_growth(CONTEXTS, CURVES, at=2048).layout.shapes
    assert line.x0 == line.x1 == 2048


def test_lines_differ_by_more_than_colour():
    many = {str(n): np.array([n, n]) for n in range(1, 7)}
    dashes = [trace.line.dash for trace in cache_growth(CONTEXTS, many).data]
    assert len(set(dashes)) == 6


@pytest.mark.parametrize(("log", "kind", "top"), [(True, "log", 1), (False, "linear", 10)])
def test_axes_and_shared_limits(log, kind, top):
    fig = cache_growth(CONTEXTS, CURVES, log=log, unit="MiB", limits=(2**20, 10 * 2**20))
    assert fig.layout.xaxis.type == fig.layout.yaxis.type == kind
    assert fig.layout.yaxis.range[1] == pytest.approx(top)


def test_a_million_tokens_are_short_on_a_logarithmic_axis():
    axis = cache_growth(CONTEXTS, CURVES).layout.xaxis
    texts = dict(zip(axis.tickvals, axis.ticktext, strict=True))
    assert [texts[10**power] for power in (3, 5, 6, 9)] == ["1k", "100k", "1M", "1,000M"]
    assert cache_growth(CONTEXTS, CURVES, log=False).layout.xaxis.tickvals is None


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match=r"unit \('GiBi'\) must be one of B, KiB"):
        cache_growth(CONTEXTS, CURVES, unit="GiBi")
