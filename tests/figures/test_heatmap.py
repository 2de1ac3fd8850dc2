"""Heatmaps are read back from the figure: what is drawn, where, and under which words."""

import base64
import json

import numpy as np
import plotly.graph_objects as go
import pytest

from mla_engine.figures import attention_map, score_map, shared_limit, symbol_html, tensor_map
from mla_engine.figures.axes import MAX_LABELS
from mla_engine.figures.heatmap import MAX_CELLS

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


def test_masked_cells_are_missing_and_named_and_not_zero():
    attention = np.full((3, 3), 0.25, dtype=np.float32)
    fig = attention_map(attention, ["a"] * 3, ["b"] * 3, mask=causal(3))
    drawn, hidden = decoded(fig), decoded(fig, 1)
    assert np.array_equal(np.isnan(drawn), ~causal(3))
    assert np.array_equal(np.isnan(hidden), causal(3))
    assert "masked" in fig.data[1].hovertemplate
    assert fig.data[0].hoverongaps is False


def test_infinite_scores_are_masked_too():
    scores = np.array([[1.0, -np.inf], [2.0, 3.0]])
    fig = score_map(scores, ["a", "b"], ["a", "b"])
    assert np.isnan(decoded(fig)[0, 1])
    assert fig.data[0].zmax == 3.0


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


def test_hover_says_query_key_head_and_value():
    fig = attention_map(np.eye(2), ["a", "b"], ["a", "b"], head="7 <i>")
    hover = fig.data[0].hovertemplate
    assert "query %{y}" in hover
    assert "key %{x}" in hover
    assert "head 7 &lt;i&gt;" in hover
    assert "%{z" in hover


def test_words_of_the_reader_replace_our_own():
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
    assert (fig.layout.shapes[0].y0, fig.layout.shapes[0].y1) == (2.5, 5.5)


def test_pooling_hides_a_block_only_where_all_of_it_is_masked():
    count = 2 * MAX_CELLS
    fig = attention_map(np.ones((count, count)), ["a"] * count, ["b"] * count, mask=causal(count))
    assert np.array_equal(np.isnan(decoded(fig)), ~causal(MAX_CELLS))


def test_a_chosen_cell_is_framed():
    fig = score_map(np.ones((4, 4)), WORDS[:4], WORDS[:4], cell=(1, 2))
    frame = fig.layout.shapes[-1]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)
    assert frame.xref == "x2"
    assert frame.yref == "y2"


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
    assert attention_map(np.eye(4), ["a"] * 4, ["b"] * 4).data[0].texttemplate
    assert attention_map(np.eye(40), ["a"] * 40, ["b"] * 40).data[0].texttemplate is None
    assert (
        attention_map(np.eye(4), ["a"] * 4, ["b"] * 4, numbers=False).data[0].texttemplate is None
    )
