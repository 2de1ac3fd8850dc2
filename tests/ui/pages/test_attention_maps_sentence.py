"""The sentence of a trained model: examples, texts of readers, links."""

import numpy as np
import pytest

from mla_engine.language_model.texts import TASKS, exercise
from tests.ui.controls import control
from tests.ui.pages.test_attention_maps import PAGE
from tests.ui.pages.test_attention_maps_trained import OWN, attention, nth
from tests.ui.screen import clicked, component, says, statement
from ui.parts import reader


def cell(app) -> tuple[int, int, int]:
    """Head, query and key that are looked at; a frame around small cells is of pixels."""
    frame = clicked(app, "large").layout["shapes"][0]
    query, key = (frame.get(f"{x}anchor", frame[f"{x}0"] + 0.5) for x in "yx")
    return control(app, "map_head").value, int(query), int(key)


@pytest.mark.parametrize("task", TASKS)
def test_an_example_is_looked_at_where_its_answer_is_decided(opened, monkeypatch, task):
    drawn = []

    def noted(*arguments: object) -> list:
        drawn.append(exercise(*arguments))
        return drawn[-1]

    monkeypatch.setattr(reader, "exercise", noted)
    app, seen = opened(PAGE), set()
    for _ in range(2):
        app.button(key=f"example_{task}").click().run()
        text = control(app, "sentence").value
        words = text.split()
        asked = drawn[-1][len(words)]
        assert [word.word for word in drawn[-1][: len(words)]] == words
        assert asked.determined
        head, query, key = cell(app)
        assert (query, key) == (len(words) - 1, len(words) - asked.distance)
        looks = attention(text).attention[0, :, query, key]
        assert head == int(looks.argmax())
        assert statement(app).startswith(f"From {nth(text, query)}, head {head} looks ")
        seen.add(text)
    assert len(seen) == 2, "another one at every press"


def test_a_sentence_of_ones_own_is_looked_at_from_its_end(opened):
    app = opened(PAGE, map_head="2", map_query="3", map_key="0")
    control(app, "sentence").set_value("fig plum pear two").run()
    assert cell(app) == (2, 3, 1), "what decides the next word"
    control(app, "sentence").set_value("plum pear kale").run()
    row = attention("plum pear kale").attention[0, 2, 2]
    assert cell(app) == (2, 2, int(row.argmax())), "what the head looks at most"
    control(app, "sentence").set_value("plum zebra").run()
    assert "zebra" in app.error[0].value
    assert control(app, "sentence").value == "plum zebra", "nothing typed is lost"
    assert clicked(app, "large").values(0, "z").shape == (3, 3)
    control(app, "sentence").set_value("").run()
    assert not app.error
    assert cell(app) == (2, 8, 1)


def test_a_link_to_a_sentence_alone_looks_at_its_end_and_one_to_a_cell_there(opened):
    assert cell(opened(PAGE, sentence="fig plum pear two")) == (0, 3, 1)
    given = {"sentence": "fig plum pear two", "map_query": "2", "map_key": "2", "map_head": "3"}
    assert cell(opened(PAGE, **given)) == (3, 2, 2)
    short = opened(PAGE, sentence="fig plum", map_query="7")
    assert cell(short)[1:] == (1, 1)
    assert len(short.warning) == 1


def test_no_seed_and_no_number_of_heads_stand_beside_a_trained_model(opened):
    app = opened(PAGE)
    keys = {one.key for one in (*app.number_input, *app.select_slider)}
    assert not {"seed", "map_run", "map_generated"} & keys
    drawn = {one.key for one in opened(PAGE, preset="small").number_input}
    assert "seed" in drawn


def test_the_layer_beside_the_map_and_behind_the_chip_are_one(opened):
    app = opened(PAGE)
    for key, layer in (("trained_layer_beside", 0), ("trained_layer", 1)):
        control(app, key).set_value(layer).run()
        assert control(app, "trained_layer").value == layer
        assert control(app, "trained_layer_beside").value == layer
        drawn = clicked(app, "large").values(0, "z")
        expected = attention(OWN, layer=layer).attention[0, 0].numpy()
        np.testing.assert_array_equal(drawn[np.isfinite(drawn)], expected[np.tri(9, dtype=bool)])
    assert "trained_layer" not in app.query_params


@pytest.mark.parametrize(
    ("text", "right", "others"),
    [
        (OWN, "lamp", ["cup", "drum", "boat"]),
        ("fig plum pear two", "plum", ["fig", "pear"]),
        ("copy fig plum : fig", "plum", ["fig"]),
        ("the dogs near the cat now", "are", ["is"]),
        ("( [ close", "]", [")", "}"]),
    ],
)
def test_the_question_asks_for_the_next_word(opened, text, right, others):
    asked = component(opened(PAGE, sentence=text), "guess")
    assert asked["answers"][asked["right"]] == right
    assert sorted(asked["answers"]) == sorted([right, *others])
    assert says(asked["asks"], "attention_maps.guess_next", text=text)


@pytest.mark.parametrize("text", ["anna", "fig plum", "anna lamp anna"])
def test_nothing_is_asked_where_the_words_leave_it_open_or_leave_one_word(opened, text):
    app = opened(PAGE, sentence=text)
    assert "guess" not in [e.proto.component_name for e in app.get("bidi_component")]
