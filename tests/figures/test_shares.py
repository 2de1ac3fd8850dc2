"""Bars of shares: read back from the figure."""

import numpy as np
import pytest

from mla_engine.figures import COLOURS, head_shares

PARTS = {
    "content": np.array([0.7, 1.3, 0.25]),
    "position": np.array([0.2, 0.4, 0.5]),
    "both": np.array([0.1, -0.7, 0.25]),
}
ROLES = ("latent", "rope", "score")


def drawn(heads=(4, 5, 9), parts=PARTS, **options):
    return head_shares(heads, parts, roles=ROLES, axes=("head", "share"), **options)


def test_every_part_has_its_amounts_and_its_colour():
    fig = drawn()
    assert [bar.name for bar in fig.data] == list(PARTS)
    for bar, amounts, role in zip(fig.data, PARTS.values(), ROLES, strict=True):
        assert bar.y == pytest.approx(amounts)
        assert list(bar.x) == [0, 1, 2]
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
