"""A trained layer on the pages of values: the ways in and out, and what cannot be trained."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui import trained_models
from tests.ui.screen import clicked, says, statement

VALUES = "attention_maps", "absorption", "compression", "decode", "compare"
V2_LITE = {"d_model": 2048, "n_heads": 16, "d_latent_kv": 512}
UNTRAINED = {"csa": "CSA", "hca": "HCA", "kda": "KDA", "block_dsa": "Block DSA"}


def captions(at: AppTest) -> str:
    return " ".join(caption.value for caption in at.caption)


@pytest.mark.parametrize("named", [{"seed": "3"}, {"d_model": "1024"}, {"map_text": "The cat"}])
def test_a_link_that_names_what_no_trained_model_has_is_seeded(opened, named):
    at = opened("pages/attention_maps.py", **named)
    assert at.session_state["settings"]["preset"] == "trained"
    assert "noise" in captions(at)
    at.button(key="take_trained").click().run()
    assert "noise" not in captions(at)
    assert not {*named, "preset"} & {*at.query_params}


@pytest.mark.parametrize("page", VALUES)
def test_a_published_model_is_one_choice_away(opened, page):
    at = opened(f"pages/{page}.py")
    picker = at.selectbox(key="preset")
    assert (picker.value, picker.options[0]) == ("trained", "A small trained model")
    picker.select("minicpm3-4b").run()
    s = at.session_state["settings"]
    assert (s["preset"], s["n_heads"], s["d_model"]) == ("minicpm3-4b", 40, 2560)
    assert "noise" in captions(at)
    at.selectbox(key="preset").select("trained").run()
    s = at.session_state["settings"]
    assert {name: s[name] for name in V2_LITE} == V2_LITE
    assert "trained" in captions(at)
    assert not {*V2_LITE, "preset"} & {*at.query_params}


def test_pages_of_sizes_have_a_published_model(opened):
    at = opened("pages/compute.py")
    picker = at.selectbox(key="preset")
    assert picker.value == "deepseek-v2-lite"
    assert "A small trained model" not in picker.options


def test_without_files_weights_are_seeded(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("ui.sources.trained.FOLDER", tmp_path)
    at = opened("pages/attention_maps.py")
    assert "noise" in captions(at)
    assert "take_trained" not in [button.key for button in at.button]
    trained_models.write(tmp_path, "mla")
    assert "layer 1" in captions(at.run())
    variants = at.selectbox(key="variant").options
    assert variants == ["MLA, expanded", "MLA, absorbed", *UNTRAINED.values()]


@pytest.mark.parametrize("page", ["attention_maps", "decode", "compare"])
@pytest.mark.parametrize("variant", UNTRAINED)
def test_a_variant_without_a_model_is_shown_with_drawn_weights(opened, page, variant):
    at = opened(f"pages/{page}.py", variant=variant)
    assert says(captions(at), "reader.lacking", variant=UNTRAINED[variant])
    assert at.query_params["variant"] == variant
    assert at.selectbox(key="preset").value == "small"
    assert UNTRAINED[variant].lower() in shown(at)
    at.button(key="take_trained").click().run()
    assert "noise" not in captions(at)
    assert "variant" not in at.query_params


def shown(at: AppTest) -> str:
    """Return the variant in the picker of the maps, or else the statement, in small letters."""
    boxes = [box.value.replace("_", " ") for box in at.selectbox if box.key == "variant"]
    return (boxes or [re.sub(r"<[^>]*>", "", statement(at)).lower()])[0]


def test_its_sizes_stay_small_with_another_seed_and_can_be_changed(opened):
    at = opened("pages/attention_maps.py", variant="csa")
    first = clicked(at, "attention").values(0, "z")
    at.number_input(key="seed").set_value(3).run()
    other = clicked(at, "attention").values(0, "z")
    assert first.shape == other.shape
    assert not np.array_equal(first, other, equal_nan=True)
    at.button(key="customise").click().run()
    assert at.query_params["preset"] == "small"
    assert at.select_slider(key="n_heads").value == 4
    np.testing.assert_array_equal(clicked(at, "attention").values(0, "z"), other)


def test_an_unknown_word_stays_in_the_box_alone(opened):
    at = opened("pages/attention_maps.py", sentence="ben cup anna lamp ben")
    box = at.text_area(key="sentence")
    box.input("ben cup ana lamp ben").run()
    assert "“ana”" in at.error[0].value
    assert "anna" in at.error[0].value
    assert at.text_area(key="sentence").value == "ben cup ana lamp ben"
    assert at.session_state["settings"]["sentence"] == "ben cup anna lamp ben"
    at.text_area(key="sentence").input("cleo drum cleo").run()
    assert not at.error
    assert at.query_params["sentence"] == "cleo drum cleo"


def test_reset_brings_back_layer_and_sentence(opened):
    at = opened("pages/attention_maps.py", sentence="cleo drum cleo", trained_layer="0")
    assert "layer 0" in captions(at)
    at.button(key="reset_page").click().run()
    s = at.session_state["settings"]
    assert (s["sentence"], s["trained_layer"]) == ("", 1)
