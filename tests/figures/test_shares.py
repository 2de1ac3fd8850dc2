"""Bars of shares, and of how far a number spreads within each head: read back from the figure."""

import numpy as np
import pytest

from mla_engine.figures import COLOURS, Spread, head_shares, head_spread

PARTS = {
    "content": np.array([0.7, 1.3, 0.25]),
    "position": np.array([0.2, 0.4, 0.5]),
    "both": np.array([0.1, -0.7, 0.25]),
}
ROLES = ("latent", "rope", "score")


def drawn(heads=(4, 5, 9), parts=PARTS, **options):
    return head_shares(heads, parts, roles=ROLES, axes=("head", "share"), **options)


def test_every_part_has_its_colour_and_its_heads():
    fig = drawn()
    for bar, role in zip(fig.data, ROLES, strict=True):
        assert list(bar.customdata) == [4, 5, 9]
        assert bar.marker.color == COLOURS[role]
    shapes = [bar.marker.pattern.shape for bar in fig.data]
    assert len(set(shapes)) == 3, "no part is told by its colour alone"


@pytest.mark.parametrize(("count", "step"), [(1, 1), (8, 1), (9, 1), (16, 2), (40, 5), (128, 16)])
def test_few_heads_are_labelled_by_their_own_numbers(count, step):
    heads = range(100, 100 + count)
    axis = drawn(heads, {"content": np.ones(count)}).layout.xaxis
    assert list(axis.tickvals) == list(range(0, count, step))
    assert list(axis.ticktext) == [str(head) for head in heads[::step]]
    assert axis.tickangle == 0


def test_a_spread_tells_its_ends_and_its_axis_prints_decades():
    spread = Spread(*np.array([[0.5, 2.0, 1.0], [1.0, 20.0, 1.0], [4.0, 90.0, 1.0]]))
    options = {"role": "key", "axes": ("head", "tokens"), "limits": (0.1, 1000.0)}
    fig = head_spread((4, 5, 9), spread, log=True, **options)
    [marks] = fig.data
    assert marks.marker.color == COLOURS["key"]
    np.testing.assert_allclose(marks.customdata.T, [[4, 5, 9], spread.least, spread.most])
    assert "head %{customdata[0]:,}<br>tokens %{y:.3g}" in marks.hovertemplate
    up = fig.layout.yaxis
    assert list(up.tickvals) == pytest.approx([0.1, 1, 10, 100, 1000])
    assert list(up.ticktext) == ["0.1", "1", "10", "100", "1,000"]
    assert not fig.layout.shapes
