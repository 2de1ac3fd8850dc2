"""Lines over the rank of a latent: numbers as handed in, the chosen rank marked."""

import numpy as np
import pytest

from mla_engine.figures import over_rank, right_answers

RANKS = [0, 4, 16]
LINES = {"keys": np.array([100.0, 20.0, 0.0]), "values": np.array([100.0, 30.0, 0.0])}


def test_lines_stand_over_their_ranks_with_the_chosen_one_marked():
    fig = over_rank(RANKS, LINES, titles=("r", "%"), at=4)
    first, second = fig.data
    assert list(first.x) == RANKS
    assert list(first.y) == [100, 20, 0]
    assert first.line.dash != second.line.dash
    assert fig.layout.shapes[0].x0 == fig.layout.shapes[0].x1 == 4
    assert fig.layout.xaxis.range == (0, 16)
    assert fig.layout.yaxis.range == (0, 105)
    assert (fig.layout.xaxis.title.text, fig.layout.yaxis.title.text) == ("r", "%")


def test_zero_is_left_out_of_a_logarithmic_axis():
    fig = over_rank(RANKS, LINES, titles=("r", "%"), log=True)
    assert fig.layout.yaxis.type == "log"
    assert np.isnan(fig.data[0].y[2])
    assert not fig.layout.shapes


def test_more_lines_than_styles_are_refused():
    with pytest.raises(ValueError, match="5 lines: there are styles for 4"):
        over_rank(RANKS, dict.fromkeys("abcde", LINES["keys"]), titles=("r", "%"))


def test_the_size_that_one_was_trained_with_is_marked_on_its_line():
    lines = {"cut": np.array([10.0, 60.0, 90.0]), "small": np.array([np.nan, 99.0, np.nan])}
    options = {"roles": ("mha", "mla_absorbed"), "titles": ("n", "%"), "at": 16}
    fig = right_answers(RANKS, lines, marked=("small", "trained with 4"), **options)
    cut, small, mark = fig.data
    assert (list(cut.y), list(small.x)) == ([10, 60, 90], RANKS)
    assert (list(mark.x), list(mark.y), mark.name) == ([4], [99], "trained with 4")
    assert "trained with" in mark.text[0]
    assert mark.marker.color == small.line.color != cut.line.color
    assert fig.layout.shapes[0].x0 == 16
    ends = [note.text for note in fig.layout.annotations if note.name == "end"]
    assert len(ends) == 1
    assert "cut" in ends[0]
    assert fig.layout.yaxis.range[1] > 100
