"""Heatmaps are read back from the figure: what is drawn, where, and under which words."""

import base64
import json

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.colors import hex_to_rgb, sample_colorscale

from mla_engine.figures import (
    attention_map,
    cell_at,
    score_map,
    shared_limit,
    symbol_html,
    tensor_map,
)
from mla_engine.figures.axes import LABEL_PIXELS, MAX_LABELS, PHONE_PIXELS
from mla_engine.figures.cells import HEIGHT, most_cells, relative_luminance
from tests.sampling import some

MAX_CELLS = most_cells(HEIGHT)
WORDS = ["the", "<b>sat</b>", "2024", "the", "a-very-long-word-indeed", "😀", "مرحبا", "$x_1$"]


def decoded(fig: go.Figure, trace: int = 0) -> np.ndarray:
    """The z that goes over the wire, which must be float32 in binary."""
    z = json.loads(fig.to_json())["data"][trace]["z"]
    assert z["dtype"] == "f4"
    shape = [int(side) for side in z["shape"].split(",")]
    return np.frombuffer(base64.b64decode(z["bdata"]), dtype=np.float32).reshape(shape)


def causal(count: int) -> np.ndarray:
    return np.tril(np.ones((count, count), dtype=bool))


def test_queries_run_downwards_and_keys_to_the_right():
    attention = np.arange(6, dtype=np.float32).reshape(2, 3) / 10
    fig = attention_map(attention, ["q0", "q1"], ["k0", "k1", "k2"])
    heat = fig.data[0]
    assert decoded(fig)[0, 2] == np.float32(0.2)
    assert list(heat.y) == [0, 1]
    assert list(heat.x) == [0, 1, 2]
    top_down, left_right = fig.layout.yaxis.range, fig.layout.xaxis.range
    assert top_down[0] > top_down[1]
    assert left_right[0] < left_right[1]
    assert fig.layout.yaxis2.range == top_down
    assert fig.layout.xaxis2.range == left_right
    assert fig.layout.yaxis.ticktext == ("q0", "q1")
    assert fig.layout.yaxis.title.text == "query"
    assert fig.layout.xaxis.title.text == "key"


@pytest.mark.parametrize("count", [23, 40, 150])
def test_the_chosen_row_and_column_have_labels_of_their_own(count):
    words, asked = [f"w{n}" for n in range(count)], some(range(count), 6)
    for row in asked:
        cell = row, count - 1 - row
        fig = attention_map(np.eye(count, dtype=np.float32), words, words, cell=cell)
        for axis, chosen in zip((fig.layout.yaxis, fig.layout.xaxis), cell, strict=True):
            assert f"w{chosen}" in axis.ticktext
            gaps = np.diff(axis.tickvals) * PHONE_PIXELS / count
            assert gaps.min() >= LABEL_PIXELS - 1e-9, "a label lies on another"


def test_words_repeat_and_stay_words():
    fig = attention_map(np.eye(8, dtype=np.float32), WORDS, WORDS)
    shown, every = fig.layout.yaxis, fig.layout.yaxis2
    assert list(every.tickvals) == list(range(8))
    assert every.ticktext[0] == "the (0)"
    assert every.ticktext[3] == "the (3)"
    assert shown.ticktext[1] == "&lt;b&gt;sat&lt;/b&gt;"
    assert shown.ticktext[2] == "2024"
    assert shown.ticktext[4] == "a-very-long…"
    assert len(shown.ticktext[4]) == 12
    assert every.ticktext[4] == "a-very-long-word-indeed (4)"
    assert fig.data[0].yaxis == "y2", "the hover reads the axis that names every cell"


def test_hover_says_query_key_head_and_value_in_the_readers_words():
    fig = attention_map(np.eye(2), ["a", "b"], ["a", "b"], head="7 <i>")
    assert fig.data[0].hoverongaps is False
    for said in ("query %{y}", "key %{x}", "head 7 &lt;i&gt;", "%{z"):
        assert said in fig.data[0].hovertemplate
    words = {"query": "查询", "key": "键", "head": "头", "masked": "已屏蔽", "pooled": "{rows}"}
    fig = attention_map(np.eye(2), ["a", "b"], ["a", "b"], mask=causal(2), head="1", words=words)
    assert fig.layout.yaxis.title.text == "查询"
    assert "已屏蔽" in fig.data[1].hovertemplate
    assert "头 1" in fig.data[0].hovertemplate


def test_compared_panels_share_a_symmetric_limit():
    content, position = np.array([[1.0, -4.0]]), np.array([[2.5, -np.inf]])
    limit = shared_limit(content, position)
    assert limit == 4.0
    for scores in (content, position):
        heat = score_map(scores, ["a"], ["b", "c"], limit=limit).data[0]
        assert (heat.zmin, heat.zmax) == (-4.0, 4.0)
    assert shared_limit(np.zeros((2, 2))) == 1.0, "a limit of 0 would leave no scale"


@pytest.mark.parametrize("count", [40, 200])
def test_few_labels_even_with_many_words(count):
    words = [f"w{i}" for i in range(count)]
    fig = attention_map(np.eye(count), words, words, height=900)
    for axis in (fig.layout.xaxis, fig.layout.yaxis):
        assert len(axis.ticktext) <= MAX_LABELS
        assert axis.ticktext[1] == f"w{int(axis.tickvals[1])}"
    assert len(fig.layout.yaxis2.ticktext) == count


def test_large_maps_are_pooled_by_magnitude_and_say_so():
    values = np.zeros((3 * MAX_CELLS, 10), dtype=np.float32)
    values[4, 7], values[5, 7] = 2.0, -3.0
    fig = tensor_map(values, axes=("c", "d"), name="W", cell=(4, 7))
    assert decoded(fig).shape == (MAX_CELLS, 10)
    assert decoded(fig)[1, 7] == -3.0
    assert "largest of 3 × 1" in fig.layout.xaxis.title.text
    assert fig.layout.yaxis2.ticktext[1] == "3–5"
    assert fig.data[0].y[1] == 4.0
    shown = np.full((300, 300), np.nan)
    shown[2, 4], shown[3, 4] = 0.25, -0.5
    assert cell_at(shown, 4.5, 2.5) == (3, 4), "what the block of four shows"
    assert cell_at(shown, 100.5, 298.5) == (298, 100), "of a hidden block the first"
    assert cell_at(np.eye(3), 9, 1) == (1, 2)


def test_pooling_hides_a_block_only_where_all_of_it_is_masked():
    count = 2 * MAX_CELLS
    fig = attention_map(np.ones((count, count)), ["a"] * count, ["b"] * count, mask=causal(count))
    assert np.array_equal(np.isnan(decoded(fig)), ~causal(MAX_CELLS))


@pytest.mark.parametrize(("count", "middle"), [(64, 7.0), (300, 6.5)])
def test_a_frame_is_around_its_cell_and_large_enough_to_be_seen(count, middle):
    frame = score_map(np.ones((4, 4)), WORDS[:4], WORDS[:4], cell=(1, 2)).layout.shapes[-1]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)
    assert (frame.xref, frame.yref) == ("x2", "y2")
    words = [str(n) for n in range(count)]
    frame = attention_map(np.eye(count), words, words, cell=(7, 7)).layout.shapes[-1]
    assert (frame.xsizemode, frame.ysizemode) == ("pixel", "pixel")
    assert (frame.xanchor, frame.yanchor) == (middle, middle)
    assert frame.x1 - frame.x0 == frame.y1 - frame.y0 == 16


def test_tensor_axes_carry_symbols_and_may_carry_words():
    name = symbol_html("c_KV_pre")
    assert name == "c<sup>KV</sup><sub>pre</sub>"
    fig = tensor_map(np.ones((2, 3)), axes=("s", "c"), name=name, rows=["the", "cat"])
    assert fig.layout.yaxis.title.text == "s"
    assert fig.layout.xaxis.title.text == "c"
    assert fig.layout.yaxis.ticktext == ("the", "cat")
    assert fig.layout.xaxis.ticktext[2] == "2"
    assert name in fig.data[0].hovertemplate


def test_small_maps_print_their_numbers_and_large_ones_do_not():
    def templates(count, **options):
        words = ["a"] * count
        return {t.texttemplate for t in attention_map(np.eye(count), words, words, **options).data}

    assert templates(4) == {None, "%{text}"}
    assert templates(40) == {None}
    assert templates(4, numbers=False) == {None}


@pytest.mark.parametrize("draw", [attention_map, score_map])
def test_printed_numbers_stand_out_on_every_colour(draw):
    values = np.linspace(-1, 1, 144).reshape(12, 12) ** (2 if draw is attention_map else 1)
    fig = draw(values, ["a"] * 12, ["b"] * 12)
    heat, *layers = fig.data[:3]
    printed = np.stack([np.isfinite(layer.z) for layer in layers])
    assert (printed.sum(axis=0) == 1).all(), "each number once"
    for layer in layers:
        ink = relative_luminance("rgb" + str(hex_to_rgb(layer.textfont.color)))
        for value in layer.z[np.isfinite(layer.z)].astype(float):
            share = (value - heat.zmin) / (heat.zmax - heat.zmin)
            paper = relative_luminance(sample_colorscale([*map(list, heat.colorscale)], share)[0])
            dark, light = sorted((ink, paper))
            assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_labels_of_narrow_panels_are_fewer_and_stand_apart():
    words = ["weto"] * 64
    wide, narrow = (
        attention_map(np.eye(64), words, words, width=width).layout.xaxis for width in (264, 130)
    )
    assert len(narrow.ticktext) < len(wide.ticktext)
    assert wide.tickangle == 90, "seven words side by side would touch"
    ends = score_map(-np.eye(2), words[:2], words[:2], width=130).data[0].colorbar
    assert ends.ticktext == ("−1", "1")
    assert (ends.lenmode, ends.len) == ("pixels", 130), "no wider than its own map"
    assert ends.tickangle == 0
    assert attention_map(np.eye(3), words[:3], words[:3]).layout.xaxis.tickangle is None


def test_marks_stand_on_their_cells():
    cells = np.zeros((3, 4), dtype=bool)
    cells[2, 1] = cells[0, 3] = True
    words = [str(i) for i in range(4)]
    fig = score_map(np.ones((3, 4)), words[:3], words, marked=(cells, "unharmed"))
    marks = fig.data[-1]
    assert list(zip(marks.x, marks.y, strict=True)) == [(3, 0), (1, 2)]
    assert (marks.xaxis, marks.yaxis) == (fig.data[0].xaxis, fig.data[0].yaxis)
