"""The tiled heatmap: what lies where, and which head a click means."""

import numpy as np
import pytest

from mla_engine.figures import TileGrid, head_tiles
from mla_engine.figures.tiles import MAX_TILE


def attention(heads, queries, keys):
    return np.random.default_rng(0).random((heads, queries, keys)).astype(np.float32)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 8, 8), (16, 4, 7), (128, 64, 64)])
def test_a_click_anywhere_on_a_tile_finds_its_head(shape):
    grid = TileGrid.of(shape)
    for head in range(shape[0]):
        top, left = grid.corner(head)
        for y in (top, top + grid.height - 1):
            for x in (left, left + grid.width - 1):
                assert grid.tile_at(x, y) == head
    assert grid.tile_at(-3, 0) is None
    assert grid.tile_at(0, grid.shape[0] + 1) is None


def test_a_click_behind_the_last_tile_is_none():
    grid = TileGrid.of((3, 8, 8))
    top, _ = grid.corner(2)
    assert grid.columns == 2
    assert grid.tile_at(grid.width + 3, top) is None


def test_large_heads_are_pooled_to_their_largest():
    values = np.zeros((2, 70, 70), dtype=np.float32)
    values[1, 4, 69] = 1.0
    grid = TileGrid.of(values.shape)
    assert (grid.height, grid.width) == (24, 24)
    assert max(grid.height, grid.width) <= MAX_TILE
    fig = head_tiles(values, [0, 1])
    top, left = grid.corner(1)
    assert fig.data[0].z[top + 1, left + 23] == 1.0
    assert np.nansum(fig.data[0].z) == 1.0


def test_a_pooled_tile_says_so_and_every_cell_has_its_words():
    small = head_tiles(attention(5, 3, 3), list(range(5)), tokens=(list("abc"), list("xyz")))
    top, left = TileGrid.of((5, 3, 3)).corner(4)
    rows = dict(zip(small.layout.yaxis.tickvals, small.layout.yaxis.ticktext, strict=True))
    columns = dict(zip(small.layout.xaxis.tickvals, small.layout.xaxis.ticktext, strict=True))
    assert (rows[top + 2], columns[left + 1]) == ("c (2)", "y (1)")
    large = head_tiles(attention(2, 33, 70), [0, 1])
    assert large.layout.annotations[-1].text == "each cell: largest of 2 × 3"
    assert large.layout.yaxis.ticktext[1] == "2–3"
