"""The attention maps' page as a deep link: its pictures and sentences are the engine's numbers."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, GroupedConfig, GroupedQueryAttention, MultiHeadLatentAttention
from mla_engine.studies import words as tokens
from ui.engine import queue
from ui.engine.model import SMALL_CONFIG
from ui.parts import bridge
from ui.parts.maps import run as maps_run
from ui.parts.maps import terms as maps_terms
from ui.settings import state
from ui.settings.sizes import SMALL_SIZES

PAGE = "pages/attention_maps.py"
WORDS = ("the", "cat", "sees", "the", "dog")
SMALL = {"preset": "small", "d_head": "16", "d_value": "16"} | {
    name: str(size) for name, size in SMALL_SIZES.items()
}
GEMMA = replace(PRESETS["gemma-2-9b"].config, d_model=32, d_head=8, d_value=8, sliding_window=3)
QWEN = replace(PRESETS["qwen3-8b"].config, d_model=32, n_heads=4, n_kv_heads=2, d_head=8, d_value=8)
LAYERS = {
    "expanded": (SMALL_CONFIG, "expanded"),
    "absorbed": (SMALL_CONFIG, "absorbed"),
    "no rotary part": (replace(SMALL_CONFIG, d_rope=0), "expanded"),
    "soft cap and window": (replace(GEMMA, softmax_scale=4.0), "grouped"),
    "QK norm": (QWEN, "grouped"),
}


def engine_trace(config, form, words, seed):
    """The engine alone, without the page's own layers in between."""
    h = torch.tensor(tokens.hidden_states(words, seed, config.d_model))[None]
    if form == "grouped":
        return GroupedQueryAttention(config, seed=seed)(h)
    layer = MultiHeadLatentAttention(config, seed=seed)
    return layer(h) if form == "expanded" else layer.forward_absorbed(h)


def drawn(app, chart):
    """The numbers of the chart `chart`, as they go over the wire."""
    for element in app.get("plotly_chart"):
        figure = json.loads(element.proto.spec)
        if figure["layout"].get("meta", {}).get("chart") == chart:
            z = figure["data"][0]["z"]
            shape = [int(side) for side in z["shape"].split(",")]
            return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape(shape)
    raise AssertionError(f"no chart {chart}")


def share_in_title(app):
    """Per cent; 0 where it is too small to be written out."""
    found = re.search(r"gives (less than )?([\d.]+) % of", app.title[0].value)
    return 0.0 if found[1] else float(found[2])


@pytest.mark.parametrize(("variant", "form"), [("mla", "expanded"), ("mla_absorbed", "absorbed")])
def test_a_link_shows_the_engines_attention(opened, variant, form):
    text = " ".join(WORDS)
    link = SMALL | {"map_text": text, "map_head": "2", "map_query": "4", "map_key": "1"}
    app = opened(PAGE, variant=variant, seed="5", **link)
    trace = engine_trace(SMALL_CONFIG, form, WORDS, 5)
    expected = trace.attention[0, 2].numpy()
    shown = drawn(app, "large")
    seen = np.tril(np.ones((5, 5), dtype=bool))
    assert np.array_equal(shown[seen], expected[seen])
    assert np.isnan(shown[~seen]).all()
    assert share_in_title(app) == pytest.approx(100 * expected[4, 1], rel=5e-3)
    content, position = drawn(app, "scores_C"), drawn(app, "scores_R")
    assert np.array_equal(content[seen], trace.scores_C[0, 2].numpy()[seen])
    assert np.array_equal(drawn(app, "scores")[seen], (content + position)[seen])


def test_temperature_and_mask_are_recomputed_from_the_logits(opened):
    app = opened(PAGE, **SMALL, map_text=" ".join(WORDS), map_query="1", map_key="3")
    assert share_in_title(app) == 0
    app.toggle[0].set_value(False).run()
    app.select_slider(key="map_temperature:en").set_value(2.0).run()
    trace = engine_trace(SMALL_CONFIG, "expanded", WORDS, 0)
    logits = trace.scores_C[0, 0] + trace.scores_R[0, 0]
    expected = torch.softmax(logits.double() / 2, -1).numpy()
    assert drawn(app, "large") == pytest.approx(expected, abs=1e-6)
    assert share_in_title(app) == pytest.approx(100 * expected[1, 3], rel=5e-3)
    assert app.query_params["map_causal"] == "0"


def test_a_head_and_a_tensor_are_chosen_from_lists(opened):
    app = opened(PAGE, **SMALL, map_text=" ".join(WORDS))
    app.number_input(key="map_head:en").set_value(3).run()
    app.selectbox(key="map_tensor:en").set_value("k_C").run()
    trace = engine_trace(SMALL_CONFIG, "expanded", WORDS, 0)
    charts = app.get("plotly_chart")
    z = json.loads(charts[-1].proto.spec)["data"][0]["z"]
    shown = np.frombuffer(base64.b64decode(z["bdata"]), "f4").reshape(5, 16)
    assert np.array_equal(shown, trace.k_C[0, :, 3].numpy())
    assert all(chart.proto.alt for chart in charts)


@pytest.mark.parametrize("name", LAYERS)
def test_mask_on_and_temperature_1_is_the_engines_attention_bit_for_bit(name):
    config, form = LAYERS[name]
    run = maps_run.run(config, form, WORDS, 1, tuple(range(config.n_heads)))
    expected = engine_trace(config, form, WORDS, 1).attention[0].numpy()
    assert np.array_equal(run.attention(causal=True, temperature=1.0), expected)


@pytest.mark.parametrize("name", LAYERS)
def test_the_way_of_a_number_adds_up(name):
    config, form = LAYERS[name]
    run = maps_run.run(config, form, WORDS, 1, tuple(range(config.n_heads)))
    shares = run.attention(causal=True, temperature=0.5)
    found = maps_terms.provenance(run, shares, 1, (4, 3), causal=True, heat=0.5)
    assert found.exponential / found.total == pytest.approx(shares[1, 4, 3], rel=1e-4)
    summed = sum(found.scale * part.dot for part in found.parts)
    if found.cap:
        assert abs(found.logit) < abs(summed)
        summed = found.cap * np.tanh(summed / found.cap)
    assert found.logit == pytest.approx(summed, rel=1e-4)
    written = sum(part.products[: maps_terms.TERMS].sum() + part.rest for part in found.parts)
    assert written == pytest.approx(sum(part.dot for part in found.parts))


def test_grouped_variants_have_one_kind_of_logits(opened):
    link = SMALL | {"map_text": " ".join(WORDS), "map_query": "4", "map_key": "2"}
    app = opened(PAGE, variant="gqa", **link)
    config = GroupedConfig(
        d_model=64, n_heads=4, n_kv_heads=2, d_head=16, d_value=16, rope=SMALL_CONFIG.rope
    )
    trace = engine_trace(config, "grouped", WORDS, 0)
    seen = np.tril(np.ones((5, 5), dtype=bool))
    assert np.array_equal(drawn(app, "scores")[seen], trace.scores[0, 0].numpy()[seen])
    assert share_in_title(app) == pytest.approx(100 * trace.attention[0, 0, 4, 2].item(), rel=5e-3)
    assert len(app.get("plotly_chart")) == 5


def test_many_generated_tokens_are_pooled_and_the_cell_is_exact(opened):
    app = opened(PAGE, **SMALL, map_generated="300", map_query="299", map_key="298")
    words = tokens.generated_words(300)
    trace = engine_trace(SMALL_CONFIG, "expanded", words, 0)
    assert drawn(app, "large").shape == (150, 150)
    expected = 100 * trace.attention[0, 0, 299, 298].item()
    assert share_in_title(app) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-2.5, "−2.500"), (0.0, "0.000"), (1234.4, "1234"), (1.88e-17, "1.880×10⁻¹⁷")],
)
def test_numbers_keep_their_digits(value, shown):
    assert maps_terms.number(value) == shown


def test_a_masked_cell_says_which_mask_hides_it():
    run = maps_run.run(*LAYERS["soft cap and window"], WORDS, 1, (0,))
    shares = run.attention(causal=True, temperature=1.0)
    later = maps_terms.provenance(run, shares, 0, (1, 3), causal=True, heat=1.0)
    before_window = maps_terms.provenance(run, shares, 0, (4, 1), causal=True, heat=1.0)
    assert not later.visible
    assert later.window is None
    assert not before_window.visible
    assert before_window.window == 3


def test_a_run_of_some_heads_is_the_same_as_of_all():
    config = PRESETS["deepseek-v2-lite"].config
    assert maps_run.block_of_heads(config, 256, 9, 0) == tuple(range(16))
    assert maps_run.block_of_heads(PRESETS["deepseek-v3"].config, 64, 77, 1) == (77,)
    few = maps_run.block_of_heads(PRESETS["deepseek-v3"].config, 64, 77, 0)
    assert 77 in few
    assert len(few) < 16
    many = maps_run.block_of_heads(PRESETS["deepseek-v3"].config, 64, 77, 128)
    assert len(few) < len(many) < 128, "what is asked for is bounded by memory"
    whole = maps_run.run(SMALL_CONFIG, "expanded", WORDS, 0, (0, 1, 2, 3))
    part = maps_run.run(SMALL_CONFIG, "expanded", WORDS, 0, (2,))
    assert np.array_equal(whole.matrix("W_UK", 2), part.matrix("W_UK", 2))
    assert part.attention(True, 1.0)[0] == pytest.approx(whole.attention(True, 1.0)[2], abs=1e-6)


def test_beyond_the_memory_budget_the_page_says_so_and_lives(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.00001")
    app = opened(PAGE, **SMALL, seed="77")
    assert "a run may hold" in app.error[0].value
    assert app.select_slider(key="map_temperature:en")
    assert not app.get("plotly_chart")


@pytest.mark.parametrize(
    "link",
    [
        {"n_heads": "1", "n_kv_heads": "1", "map_text": "one"},
        {"d_rope": "0", "map_text": "one"},
        {"variant": "mqa", "d_latent_q": "0", "map_tensor": "W_DQ", "map_head": "99"},
        {"preset": "gpt-2", "variant": "mha", "map_causal": "0", "map_temperature": "0.1"},
        {"map_generated": "1024", "map_run": "128", "n_heads": "128", "variant": "mla_absorbed"},
    ],
)
def test_the_edges_of_the_settings_run(opened, link):
    app = opened(PAGE, **(SMALL | link))
    assert not app.error
    assert 0 <= share_in_title(app) <= 100


def test_text_of_any_kind_is_shown_as_typed(opened):
    text = "<b>bold</b> $x_1$ 😀 مرحبا the the **"
    app = opened(PAGE, **SMALL, map_text=text, map_query="0", map_key="0")
    assert "<b>" not in app.title[0].value
    assert "bold" in app.title[0].value
    figure = json.loads(app.get("plotly_chart")[1].proto.spec)
    assert figure["layout"]["yaxis"]["ticktext"][0] == "&lt;b&gt;bold&lt;/b&gt;"
    assert figure["layout"]["yaxis"]["ticktext"][4:6] == ["the", "the"]


def test_a_text_beyond_the_limit_is_refused_and_the_last_one_stays(opened):
    app = opened(PAGE, **SMALL, map_text="one two")
    app.text_area(key="map_text:en").set_value("word " * 257).run()
    assert "257 words" in app.error[0].value
    assert app.text_area(key="map_text:en").value == "word " * 257, "nothing typed is lost"
    assert drawn(app, "large").shape == (2, 2)
    assert app.query_params["map_text"] == "one two"
    app.number_input(key="map_head:en").set_value(1).run()
    assert app.text_area(key="map_text:en").value == "word " * 257
    assert "257 words" in app.error[0].value
    app.text_area(key="map_text:en").set_value("three").run()
    assert not app.error
    assert drawn(app, "large").shape == (1, 1)


@pytest.mark.parametrize("label", ["Reset this page", "Reset to defaults"])
@pytest.mark.parametrize("good", ["", "one two"])
def test_a_reset_empties_the_box_of_a_refused_text(opened, label, good):
    app = opened(PAGE, **SMALL, map_text=good)
    app.text_area(key="map_text:en").set_value("word " * 257).run()
    assert app.error
    next(button for button in app.button if button.label == label).click().run()
    assert app.text_area(key="map_text:en").value == ""
    assert not app.error


def test_a_link_with_too_long_a_text_says_so(opened):
    app = opened(PAGE, **SMALL, map_text="x" * 2001)
    assert app.warning
    assert drawn(app, "large").shape == (11, 11), "the page's own sentence stands in"


def test_a_head_and_a_cell_that_there_are_not_come_to_the_nearest_in_one_line(opened):
    app = opened(PAGE, **SMALL, map_text="a b c", map_head="99", map_query="5000", map_key="7")
    asked = {name: app.query_params[name] for name in ("map_head", "map_query", "map_key")}
    assert asked == {"map_head": "3", "map_query": "2", "map_key": "2"}
    assert len(app.warning) == 1
    for name, given, used in (("head", 99, 3), ("query", 5000, 2), ("key", 7, 2)):
        assert f"map_{name}: “{given}” in the link is not possible; {used} is" in plain(app)
    app.text_area(key="map_text:en").set_value("one").run()
    assert app.query_params["map_query"] == "0"
    assert not app.warning, "a shorter text is no fault of a link"


def plain(app):
    return app.warning[0].value.replace("&#95;", "_")


def test_a_click_on_a_pooled_map_chooses_what_the_block_shows(opened, monkeypatch):
    heard = {}
    monkeypatch.setattr(bridge, "listen", lambda key, **on: heard.update(on))
    opened(PAGE, **SMALL, map_generated="300", map_causal="0")
    trace = engine_trace(SMALL_CONFIG, "expanded", tokens.generated_words(300), 0)
    asked = {}
    monkeypatch.setattr(state, "change", asked.update)
    logits = {"scores_C": trace.scores_C, "scores": trace.scores_C + trace.scores_R}
    for chart, values in logits.items():
        for row, column in ((4, 10), (100, 250), (298, 0)):
            heard["on_cell"]({"chart": chart, "x": column + 0.5, "y": row + 0.5})
            block = values[0, 0, row : row + 2, column : column + 2].abs()
            chosen = (asked["map_query"] - row, asked["map_key"] - column)
            assert block[chosen] == block.max()


def test_a_tensor_that_a_variant_has_not_comes_back_with_the_variant(opened):
    app = opened(PAGE, **SMALL, map_tensor="c_KV")
    app.selectbox(key="variant:en").set_value("mha").run()
    assert app.selectbox(key="map_tensor:en").value == "q_pre"
    app.selectbox(key="variant:en").set_value("mla").run()
    assert app.selectbox(key="map_tensor:en").value == "c_KV"
    assert "map_tensor" not in app.query_params
    app.selectbox(key="map_tensor:en").set_value("k_R").run()
    assert app.query_params["map_tensor"] == "k_R"


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0 %"), (2.29e-7, "less than 0.001 %"), (1e-5, "0.00100 %"), (0.1234, "12.3 %")],
)
def test_shares_are_percentages_of_three_digits_and_none_is_too_small(opened, share, shown):
    def page(share):
        import streamlit as st

        from ui.parts.maps import view as maps

        st.text(maps.percent(share))

    app = AppTest.from_function(page, args=(share,)).run()
    assert app.text[0].value == shown


def test_a_full_line_of_work_is_said_where_the_picture_was(opened, monkeypatch):
    monkeypatch.setattr(queue, "_queue", lambda: queue.Queue(-1, 1))
    app = opened(PAGE, **SMALL, seed="4321")
    assert "waiting" in app.columns[0].error[0].value
    assert app.columns[1].text_area


def test_a_link_to_a_tensor_that_the_layer_has_not_says_what_is_shown_instead(opened):
    said = "This layer has no c_Q: c_KV_pre is shown."
    app = opened(PAGE, d_latent_q="0", map_tensor="c_Q")
    shown = app.selectbox(key="map_tensor:en").value
    assert said.replace("c_KV_pre", shown) in [caption.value for caption in app.caption]
    assert app.query_params["map_tensor"] == "c_Q"  # and comes back with the query latent
