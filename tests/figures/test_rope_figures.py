"""Curves over whole numbers, and marks: what is drawn where."""

import numpy as np
import pytest

from mla_engine.figures import curves, score_map


def test_curves_keep_their_numbers_band_and_place():
    lines = {"before": np.array([1.0, 0.1]), "after": np.array([1.0, 0.01])}
    fig = curves([0, 1], lines, titles=("pair", "rad"), log=True, band=(0.5, 1), at=1)
    assert [list(trace.y) for trace in fig.data] == [[1.0, 0.1], [1.0, 0.01]]
    assert len({trace.line.dash for trace in fig.data}) == 2
    assert (fig.layout.xaxis.title.text, fig.layout.yaxis.title.text) == ("pair", "rad")
    assert fig.layout.yaxis.type == "log"
    assert [(shape.x0, shape.x1) for shape in fig.layout.shapes] == [(0.5, 1), (1, 1)]
    assert not curves([0, 1], lines, titles=("", "")).layout.shapes


def test_more_lines_than_styles_are_refused():
    with pytest.raises(ValueError, match="3 lines"):
        curves([0], {name: np.zeros(1) for name in "abc"}, titles=("", ""))


def test_marks_stand_on_their_cells():
    cells = np.zeros((3, 4), dtype=bool)
    cells[2, 1] = cells[0, 3] = True
    words = [str(i) for i in range(4)]
    fig = score_map(np.ones((3, 4)), words[:3], words, marked=(cells, "unharmed"))
    marks = fig.data[-1]
    assert list(zip(marks.x, marks.y, strict=True)) == [(3, 0), (1, 2)]
    assert (marks.xaxis, marks.yaxis) == (fig.data[0].xaxis, fig.data[0].yaxis)
