"""Cache blocks: one for each token, as wide as its bytes, on an axis that does not move."""

from mla_engine.figures import cache_blocks, crossing, roofline
from tests.figures.test_theme import sizes

TITLES = ("prompt", "earlier", "newest")


def drawn(prompt, made):
    return cache_blocks(
        ["MHA", "MLA"], [512, 72], (prompt, made),
        most=40, titles=TITLES, axis="held", shown=lambda size: f"{size / 1024:g} KiB",
    )  # fmt: skip


def test_every_token_has_a_block_and_blocks_add_up():
    fig = drawn(8, 3)
    *blocks, ends = fig.data
    assert [list(block.x) for block in blocks] == [[8 * 512, 8 * 72], *[[512, 72]] * 3]
    assert [block.name for block in blocks] == ["prompt", "earlier", "earlier", "newest"]
    assert list(ends.x) == [11 * 512, 11 * 72]
    assert list(ends.text) == [" 5.5 KiB", " 0.773438 KiB"]
    assert fig.layout.barmode == "stack"


def test_the_newest_stands_out_and_neighbours_differ():
    _, first, second, newest, _ = drawn(8, 3).data
    assert newest.marker.color != first.marker.color == second.marker.color
    assert first.marker.opacity != second.marker.opacity


def test_a_title_stands_in_the_legend_once():
    shown = [block.name for block in drawn(8, 5).data if block.showlegend]
    assert shown == list(TITLES)


def test_the_axis_stays_as_the_caches_grow():
    assert drawn(8, 1).layout.xaxis.range == drawn(8, 32).layout.xaxis.range
    assert drawn(8, 32).layout.xaxis.range[1] > 40 * 512


def test_the_axis_counts_in_the_unit_of_the_texts():
    axis = drawn(8, 3).layout.xaxis  # to 1.25 x 40 x 512 = 25 x 1,024
    assert list(axis.tickvals) == [0, 16 * 1024]
    assert list(axis.ticktext) == ["0", "16 KiB"]


def test_letters_are_large_and_paper_is_left_to_the_page():
    square = crossing([1, 2], {"a": [1, 2], "b": [2, 2]}, titles=("x", "y"), cross=(2, 2))
    for fig in (drawn(8, 3), roofline((1e12, 1e9), {"MLA": (1, 1e9)}, ridge="r"), square):
        layout = fig.to_plotly_json()["layout"]
        assert min(sizes(layout)) >= 16
        assert fig.layout.height >= 400
        assert fig.layout.paper_bgcolor == fig.layout.plot_bgcolor == "rgba(0,0,0,0)"
