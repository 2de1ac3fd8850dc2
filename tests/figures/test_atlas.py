"""All heads as small maps in one image: where each stands, its colour, its hover and its click."""

import numpy as np
import pytest

from mla_engine.figures import Tile, head_atlas, small_maps, tile_under
from mla_engine.figures.atlas import HUES, NONE, SHADES

NAMES = ("none", "previous", "", "same")


def maps(count, tokens):
    random = np.random.default_rng(0).random((count, tokens, tokens)) * np.tri(tokens)
    return (random / random.sum(-1, keepdims=True)).astype(np.float32)


def drawn(given, order, columns, **options):
    fitting = small_maps(given, len(order))
    tokens = given.shape[1]
    return head_atlas(fitting, order, tokens=tokens, columns=columns, names=NAMES, **options)


def tiles(count, hues=(0, 1, 3)):
    return [Tile(place, hues[place % len(hues)], f"head {place}") for place in range(count)]


def image_of(fig, tokens):
    """The codes of every tile's cells [rows,columns,t,s]."""
    image = fig.data[0]
    pitch = round(1 / image.dy), round(1 / image.dx)
    grid = image.z.reshape(image.z.shape[0] // pitch[0], pitch[0], -1, pitch[1])
    return grid.transpose(0, 2, 1, 3)[:, :, :tokens, :tokens]


def test_every_map_stands_in_its_place_in_its_colour():
    given, order = maps(7, 5), tiles(7)[::-1]
    codes = image_of(drawn(given, order, 3), 5)
    seen = np.tri(5, dtype=bool)
    for number, tile in enumerate(order):
        own = codes[divmod(number, 3)]
        hue, shade = np.divmod(own[seen].astype(int), SHADES + 1)
        assert (hue == tile.hue).all()
        np.testing.assert_allclose(shade / SHADES, given[tile.place][seen], atol=0.5 / SHADES)
        assert (own[~seen] == NONE).all()
    assert (codes[2, 1:] == NONE).all(), "no tile stands there"


def test_shades_of_one_hue_go_from_light_to_dark():
    def luminance(colour):
        return sum(int(colour[at : at + 2], 16) for at in (1, 3, 5))

    scale = drawn(maps(1, 2), tiles(1), 1).data[0].colorscale
    for number, hue in enumerate(HUES):
        low, middle, high = (colour for _, colour in scale[3 * number : 3 * number + 3])
        assert middle == hue
        assert luminance(low) > luminance(middle) > luminance(high)


def test_a_long_text_is_pooled_to_its_largest_and_says_so():
    given = np.zeros((270, 100, 100), dtype=np.float32)
    given[3, 57, 2] = 1
    fig = drawn(given, tiles(270, hues=(0,)), 30)
    codes = image_of(fig, 25)
    assert (codes[0, 3] == SHADES).sum() == 1
    assert codes[0, 3, 57 // 4, 0] == SHADES
    assert fig.layout.annotations[0].text == "each cell: largest of 4 × 4"
    assert not drawn(maps(2, 5), tiles(2), 2).layout.annotations
    assert drawn(maps(2000, 40), tiles(2000), 50).data[0].z.size < 4e5


def test_the_hover_names_the_head_and_a_click_finds_it():
    fig = drawn(maps(7, 4), tiles(7), 3, chosen=4)
    cover = fig.data[1]
    for row, said in enumerate(cover.customdata):
        for column, one in enumerate(said):
            x, y = cover.x0 + column * cover.dx, cover.y0 + row * cover.dy
            found = tile_under(x, y, 3, 7)
            assert (one and f"head {found}") == one
    assert tile_under(-0.5, 0.5, 3, 7) is None
    assert tile_under(3.5, 0.5, 3, 7) is None
    frame = fig.layout.shapes[0]
    assert tile_under((frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2, 3, 7) == 4


def test_the_legend_names_what_there_is_and_axes_are_numbered():
    fig = drawn(maps(26, 3), tiles(26), 13, axes=("layer", "head"))
    entries = {trace.name: trace.marker.color for trace in fig.data[2:]}
    assert entries == {"none": HUES[0], "previous": HUES[1], "same": HUES[3]}
    x, y = fig.layout.xaxis, fig.layout.yaxis
    assert (x.title.text, y.title.text) == ("layer", "head")
    assert dict(zip(x.tickvals, x.ticktext, strict=True)) == {0.5: "0", 5.5: "5", 10.5: "10"}
    assert list(y.range) == pytest.approx([2, -0.05]), "head 0 on top"
    assert not drawn(maps(2, 3), tiles(2), 2).layout.xaxis.showticklabels
