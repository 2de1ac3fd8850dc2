"""The maps of words that are chosen block by block: each number is one that loops give."""

import re

import numpy as np
import pytest
import torch

from mla_engine import PooledIndexAttention, mechanisms
from mla_engine.studies.words import hidden_states, words_of
from tests.engine.samples import arrays
from tests.reference import absorbed
from tests.reference_pooled_index import pooled_index
from tests.ui.maps import dotted, left_out
from tests.ui.screen import cells, chart_of, charts, clicked, lead, said, says, statement
from ui.settings.sizes import SMALL_CONFIG, SMALL_SIZES

PAGE = "pages/attention_maps.py"
LINK = {"preset": "small", "variant": "block_dsa"}
WORDS = words_of("the cat sat on the mat because the cat was tired")
N = len(WORDS)
CLOSE = {"rtol": 1e-4, "atol": 1e-6}  # the page's float32
CONFIG = mechanisms.variants()["block_dsa"].config(SMALL_SIZES, SMALL_CONFIG)


@pytest.fixture(scope="module")
def x():
    """Every field by loops in float64."""
    layer = PooledIndexAttention(CONFIG, seed=0, dtype=torch.float64)
    h = hidden_states(WORDS, 0, CONFIG.d_model).astype(np.float64)[None]
    return pooled_index(CONFIG, arrays(layer), h, form=absorbed)


def test_a_sentence_is_long_enough_to_show_a_choice(x):
    assert (CONFIG.pooling, CONFIG.index_topk, CONFIG.d_rope) == (2, 4, 0)
    assert x["chosen_E"][0].sum(-1).tolist() == [0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]
    assert x["chosen"][0].sum(-1).tolist() == [1, 2, 3, 4, 5, 4, 5, 4, 5, 4, 5]


def test_the_map_shows_what_is_chosen_and_parts_what_is_left_out_from_what_is_to_come(
    opened, downloads, x
):
    app = opened(PAGE, **LINK, map_head="2", map_query="10", map_key="3")
    large = clicked(app, "large")
    values, chosen = large.values(0, "z"), x["chosen"][0]
    assert values.shape == (N, N)
    np.testing.assert_array_equal(np.isfinite(values), chosen)
    np.testing.assert_allclose(values[chosen], x["attention"][0, 2][chosen], **CLOSE)
    told = left_out(large)
    causal = np.tri(N, dtype=bool)
    assert set(told) == {"masked", "not chosen"}
    np.testing.assert_array_equal(told["masked"], ~causal)
    np.testing.assert_array_equal(told["not chosen"], causal & ~chosen)
    lines = [shape["x0"] for shape in large.layout["shapes"] if shape["type"] == "line"]
    assert lines == [1.5, 3.5, 5.5, 7.5, 9.5], "between the blocks of two words"
    rows = cells(downloads["large.csv"])
    assert [len(rows), len(rows[0])] == [1 + N, 1 + N]
    logits = clicked(app, "scores").values(0, "z")
    np.testing.assert_allclose(logits[chosen], x["scores_C"][0, 2][chosen], **CLOSE)


@pytest.mark.parametrize(("query", "own"), [(10, 1), (9, 0)])
def test_how_much_a_word_reads_is_said(opened, x, query, own):
    app = opened(PAGE, **LINK, map_query=str(query), map_key="0")
    read = 4 + own
    assert says(app.title[0].value, "attention_maps.title_blocks")
    assert lead(app)[0] == f"{read} of {query + 1} words"
    assert read == x["chosen"][0, query].sum()
    key, values = "attention_maps.line_blocks", {"read": 2, "full": 5, "pools": 2, "most": 5}
    assert says(statement(app), key, own=1, **values) == bool(own)
    assert says(statement(app), f"{key}_full", **values) != bool(own)
    assert any(says(line, "attention_maps.noise_blocks") for line in said(app))


def test_of_a_short_text_the_most_is_said(opened):
    app = opened(PAGE, **LINK, map_query="2", map_key="0")
    assert lead(app)[0] == "at most 5 words"
    assert says(statement(app), "attention_maps.line_blocks", read="1", full="1", pools="2")


def test_a_cell_of_a_block_that_was_not_chosen_says_so(opened, x):
    left = int(np.flatnonzero(~x["chosen"][0, 10])[0])
    app = opened(PAGE, **LINK, map_query="10", map_key=str(left))
    (why,) = (line for line in said(app) if "the indexer chose for" in line)
    assert says(
        re.sub("[\u2068\u2069]", "", why),
        "attention_maps.hidden_choice_block",
        target=WORDS[left],
        k="2",
        pools="2",
        query="tired",
    )


def test_the_gates_of_the_index_keys_and_the_index_scores_are_drawn(opened, downloads, x):
    app = opened(PAGE, **LINK, map_query="10", map_key="3")
    names = [f"{WORDS[i]} {WORDS[i + 1]}" for i in range(0, N - 1, 2)]
    gates = chart_of(app, f"Gates of 5 blocks over {N} words")
    values, wanted = gates.values(0, "z"), np.full((5, N), np.nan)
    for block in range(5):
        wanted[block, 2 * block : 2 * block + 2] = x["gates_I"][0, block].mean(-1)
    np.testing.assert_allclose(values, wanted, **CLOSE)
    index = chart_of(app, f"Index scores of {N} words for 5 blocks")
    full = np.arange(5) * 2 + 1 <= np.arange(N)[:, None]
    scores = index.values(0, "z")
    np.testing.assert_array_equal(np.isfinite(scores), full)
    np.testing.assert_allclose(scores[full], x["index_E"][0][full], **CLOSE)
    of_query = [names[place] for place in np.flatnonzero(x["chosen_E"][0, 10])]
    assert index.alt.endswith(f"tired\u2069: {', '.join(of_query)}.")
    assert dotted(index) == {(int(t), int(i)) for t, i in np.argwhere(x["chosen_E"][0])}
    assert cells(downloads["index.csv"])[0][1:] == names


@pytest.mark.parametrize("code", ["k_E", "gates_I", "z_IE", "q_I", "chosen_E", "b_IZ"])
def test_any_tensor_of_the_run_is_a_matrix(opened, x, code):
    app = opened(PAGE, **LINK, map_tensor=code, map_head="2")
    values = charts(app)[-1].values(0, "z")
    places = {
        "k_E": lambda: x["k_E"][0],
        "gates_I": lambda: x["gates_I"][0, :, -1],
        "z_IE": lambda: x["z_IE"][0, :, 0],
        "q_I": lambda: x["q_I"][0, :, 1],  # the last of two index heads
        "chosen_E": lambda: x["chosen_E"][0],
    }
    if code in places:
        np.testing.assert_allclose(values, places[code](), **CLOSE)
    assert values.ndim == 2
    axis = charts(app)[-1].axis("y")
    assert (axis == "i, block") == (code in ("k_E", "gates_I"))


def test_a_map_without_its_mask_shows_all_logits(opened, x):
    app = opened(PAGE, **LINK, map_causal="0", code="snippet", map_query="4", map_key="9")
    values = clicked(app, "large").values(0, "z")
    logits = x["scores_C"][0, 0]
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    np.testing.assert_allclose(values, shares / shares.sum(-1, keepdims=True), **CLOSE)
    assert "trace = layer.forward_absorbed(h)" in app.code[0].value
