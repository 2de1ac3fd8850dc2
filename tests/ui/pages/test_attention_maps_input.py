"""The reader's controls, clicks and texts on the attention maps, and what there is not."""

import numpy as np
import pytest
import torch

from mla_engine import figures
from mla_engine.studies.words import generated_words
from tests.ui.controls import control
from tests.ui.pages.test_attention_maps import CELL, LINK, PAGE, SEEN, WORDS, isolated, trace_of
from tests.ui.screen import charts, clicked, refusal, says, statement
from ui.settings import state


def drawn(app, name: str) -> np.ndarray:
    return clicked(app, name).values(0, "z")


def test_every_control_has_its_choices_and_the_value_of_the_link(opened):
    app = opened(PAGE, **LINK, **CELL, variant="gqa", map_temperature="1.25", map_run="6")
    assert control(app, "map_text").value == CELL["map_text"]
    heads = ["as many as run in a moment", "1", "2", "4", "6"]
    assert control(app, "map_run").options == heads
    numbered = [f"{place} · {isolated(word)}" for place, word in enumerate(WORDS)]
    assert control(app, "map_query").options == control(app, "map_key").options == numbered
    chosen = {"map_query": 7, "map_key": 2, "map_head": 4, "seed": 10, "variant": "gqa"}
    assert {name: control(app, name).value for name in chosen} == chosen
    assert control(app, "map_tensor").options[0] == "h · hidden state of each token"


def test_a_shorter_text_takes_the_cell_to_its_end(opened):
    app = opened(PAGE, **LINK, **CELL)
    before = dict(app.query_params)
    control(app, "map_text").set_value("a b c d").run()
    assert app.query_params == before | {"map_text": "a b c d", "map_query": "3", "map_key": "2"}


def test_the_seed_and_the_generated_words_reach_the_engine(opened):
    app = opened(PAGE, **LINK, **(CELL | {"seed": "9", "map_generated": "16"}))
    trace = trace_of("mla", generated_words(16), seed=9)
    seen = np.tri(16, dtype=bool)
    assert np.array_equal(drawn(app, "large")[seen], trace.attention[0, 4].numpy()[seen])
    assert control(app, "map_text").disabled
    assert says(control(opened(PAGE, **LINK), "map_text").placeholder, "maps.example")


def test_a_click_chooses_the_head_of_a_tile_and_what_a_block_shows(opened, monkeypatch):
    asked = {}
    app = opened(PAGE, **LINK, map_generated="300", map_causal="0", map_head="4", map_run="2")
    trace = trace_of("mla", generated_words(300), seed=0)
    monkeypatch.setattr(state, "change", asked.update)
    grid = figures.TileGrid.of((2, 300, 300))
    for tile, head in enumerate((4, 5)):
        top, left = grid.corner(tile)
        app.session_state["visit"].on_cell({"chart": "heads", "x": left + 3, "y": top + 3})
        assert asked.pop("map_head") == head
    app.session_state["visit"].on_cell({"chart": "heads", "x": -50, "y": -50})
    assert not asked, "beside the tiles nothing is chosen"
    logits = {"scores_C": trace.scores_C, "scores": trace.scores_C + trace.scores_R}
    logits |= {"scores_R": trace.scores_R, "large": torch.softmax(logits["scores"], -1)}
    for chart, values in logits.items():
        side = 2 if chart == "large" else 3  # of a block: room for 190 cells, or 125
        middle = (side - 1) / 2
        for row, column in ((6, 12), (102, 252), (294, 0)):
            app.session_state["visit"].on_cell(
                {"chart": chart, "x": column + middle, "y": row + middle}
            )
            block = values[0, 4, row : row + side, column : column + side].abs()
            chosen = (asked["map_query"] - row, asked["map_key"] - column)
            assert block[chosen] == pytest.approx(float(block.max()), rel=1e-5)


def test_text_of_any_kind_is_shown_as_typed(opened):
    text = "<b>bold</b> $x_1$ 😀 مرحبا the the ** [a](b) :cat: ~y~ {z}"
    for query, key in ((0, 1), (7, 6), (8, 9), (10, 1)):
        link = {"map_query": str(query), "map_key": str(key), "map_causal": "0"}
        app = opened(PAGE, **LINK, map_text=text, **link)
        prose = [one.value for one in (*app.title, *app.markdown, *app.subheader)]
        for word in (text.split()[query], text.split()[key]):
            assert not any(f"\u2068{word}" in line for line in prose), word
    ticks = clicked(app, "large").layout["yaxis2"]["ticktext"]
    assert ticks[0] == "&lt;b&gt;bold&lt;/b&gt; (0)"
    assert ticks[4:6] == ["the (4)", "the (5)"]


def test_a_text_beyond_the_limit_is_refused_and_the_last_one_stays(opened):
    app = opened(PAGE, **LINK, map_text="one two")
    control(app, "map_text").set_value("word " * 257).run()
    refusal = "The text has 257 words, and 256 is the most: the maps keep the last good text."
    assert app.error[0].value == f"{refusal} Shorten it, or use generated tokens."
    assert control(app, "map_text").value == "word " * 257, "nothing typed is lost"
    assert drawn(app, "large").shape == (2, 2)
    assert app.query_params["map_text"] == "one two"
    control(app, "map_head").set_value(1).run()
    assert control(app, "map_text").value == "word " * 257
    assert "257 words" in app.error[0].value
    control(app, "map_text").set_value("x" * 2001).run()
    assert says(app.error[0].value, "maps.too_long", given="2,001", most="2,000")
    control(app, "map_text").set_value("three").run()
    assert not app.error
    assert drawn(app, "large").shape == (1, 1)


def test_a_reset_empties_the_box_of_a_refused_text(opened):
    for label in ("Reset this page", "Reset to defaults"):
        app = opened(PAGE, **LINK, map_text="one two")
        control(app, "map_text").set_value("word " * 257).run()
        assert app.error
        next(button for button in app.button if button.label == label).click().run()
        assert [box.value for box in app.text_area if not box.key.startswith("own_model:")] == [
            ""
        ]  # of the trained model's sentence
        assert not app.error
        control(app, "preset").set_value("small").run()
        assert control(app, "map_text").value == ""


def test_a_link_with_too_long_a_text_says_so(opened):
    app = opened(PAGE, **LINK, map_text="x" * 2001)
    assert app.warning
    assert drawn(app, "large").shape == (11, 11), "the page's own sentence stands in"


def test_a_head_and_a_cell_that_there_are_not_come_to_the_nearest_in_one_line(opened):
    app = opened(PAGE, **LINK, map_text="a b c", map_head="99", map_query="5000", map_key="7")
    asked = {name: app.query_params[name] for name in ("map_head", "map_query", "map_key")}
    assert asked == {"map_head": "5", "map_query": "2", "map_key": "2"}
    assert len(app.warning) == 1
    said = app.warning[0].value.replace("&#95;", "_")
    for name, given, used in (("head", 99, 5), ("query", 5000, 2), ("key", 7, 2)):
        assert says(said, "common.changed_setting", name=f"map_{name}", given=given)
        assert f"{used} is" in said
    control(app, "map_text").set_value("one").run()
    assert app.query_params["map_query"] == "0"
    assert not app.warning, "a shorter text is no fault of a link"


@pytest.mark.parametrize(
    ("n_charts", "link"),
    [
        (7, {"n_heads": "1", "n_kv_heads": "1", "map_text": "one", "map_tensor": "attention"}),
        (5, {"d_rope": "0", "map_text": "one", "map_tensor": "scores_C"}),
        (5, {"variant": "mqa", "d_latent_q": "0", "map_tensor": "W_DQ", "map_head": "99"}),
        (5, {"preset": "gpt-2", "variant": "mha", "map_causal": "0", "map_temperature": "0.1"}),
        (7, {"map_generated": "1024", "map_run": "128", "n_heads": "128"}),
    ],
)
def test_the_edges_of_the_settings_run(opened, n_charts, link):
    app = opened(PAGE, **(LINK | link))
    assert not app.error
    assert len(charts(app)) == n_charts


def test_a_tensor_that_a_variant_has_not_comes_back_with_the_variant(opened):
    app = opened(PAGE, **LINK, map_tensor="c_KV")
    control(app, "variant").set_value("mha").run()
    assert control(app, "map_tensor").value == "q_pre"
    control(app, "variant").set_value("mla").run()
    assert control(app, "map_tensor").value == "c_KV"
    assert "map_tensor" not in app.query_params


def test_a_link_to_a_tensor_that_the_layer_has_not_says_what_is_shown_instead(opened):
    app = opened(PAGE, d_latent_q="0", map_tensor="c_Q")
    shown = control(app, "map_tensor").value
    assert says(
        [one.value for one in app.caption],
        "attention_maps.no_such_tensor",
        wanted="c_Q",
        shown=shown,
    )
    assert app.query_params["map_tensor"] == "c_Q"  # and comes back with the query latent


def test_what_cannot_run_is_said_where_the_picture_was(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.00001")
    app = opened(PAGE, **LINK, seed="77", code="snippet")
    assert statement(app) == ""
    assert says(refusal(app), "common.too_large")
    assert control(app, "map_temperature")
    assert not charts(app)
    assert not app.code
    assert "no code" in app.info[0].value


def test_all_that_is_shown_is_masked_alike(seen):
    app = seen(PAGE, **LINK, **CELL).at
    for name in ("large", "attention", "scores_C", "scores_R", "scores"):
        assert np.array_equal(np.isfinite(drawn(app, name)), SEEN)
