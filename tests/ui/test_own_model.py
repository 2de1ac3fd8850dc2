"""A model of the reader's own on every page: pasted, dropped, by name, and in a link."""

import html
import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import ui.frame.pages  # noqa: F401 - finds the pages
from kvcount.tests.published import LLAMA_3_70B, V3, listed
from mla_engine import mechanisms
from mla_engine.checkpoints import load_attention, open_checkpoint
from mla_engine.checkpoints.own_preset import preset_of_config
from mla_engine.delta.config import DeltaConfig
from mla_engine.given_preset import given_preset
from tests.checkpoints.conftest import empty_cache  # noqa: F401, a fixture
from tests.checkpoints.serving import serving
from tests.checkpoints.test_own_preset import FORGED, KIMI, OWN
from tests.ui.controls import link, pressed
from tests.ui.screen import plain, refusal
from ui.engine import shared_cache
from ui.settings.page import PAGES
from ui.settings.parsers import SIZES, is_own, preset_of
from ui.settings.values import Place

KEY = preset_of_config(OWN, "mine").key
OF_SIZES = [name for name, page in PAGES.items() if page.sizes]
SMALL = OWN | {
    "hidden_size": 48, "num_attention_heads": 3, "kv_lora_rank": 12, "q_lora_rank": 20,
    "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 10, "num_hidden_layers": 5,
}  # fmt: skip
WIDE = {"d_model": 48, "n_heads": 3, "d_head": 6, "d_value": 10, "d_latent_kv": 12}
PAGE = "pages/compute.py"


def given(at: AppTest, text: str = "", name: str = "", file: bytes = b"") -> AppTest:
    """Fill in the form behind the chip and send it."""
    at.text_area(key="own_model:text").set_value(text)
    at.text_input(key="own_model:name").set_value(name)
    if file:
        at.file_uploader(key="own_model:file").set_value(("config.json", file, "application/json"))
    return pressed(at, "Use this model")


def sizes(at: AppTest) -> dict[str, int]:
    """Return the sizes in force."""
    return {name: at.session_state["settings"][name] for name in SIZES}


def captions(at: AppTest) -> str:
    return plain(" ".join(one.value for one in at.caption))


@pytest.mark.parametrize("page", OF_SIZES)
def test_every_page_shows_a_model_from_a_link_alone(opened, page):
    key = preset_of_config(SMALL, "mine").key
    at = opened(PAGES[page].file, preset=key)
    assert not at.error
    assert not at.warning
    assert {name: sizes(at)[name] for name in WIDE} == WIDE
    assert link(at)["preset"] == key
    assert not set(SIZES) & set(link(at))
    assert "mine: layer 0 of 5 layers" in captions(at)
    assert "noise" in captions(at)
    assert at.session_state["settings"]["variant"] == "mla"


def test_a_pasted_config_is_the_model_and_a_link_brings_it_back(opened):
    at = given(opened(PAGE), json.dumps(OWN | {"_name_or_path": "me/mine"}))
    assert not at.error
    key = at.session_state["settings"]["preset"]
    assert preset_of(key).name == "mine"
    assert preset_of(key).config == preset_of_config(OWN, "").config
    again = opened(PAGE, **link(at))
    assert again.session_state["settings"] == at.session_state["settings"]
    assert sizes(again)["d_model"] == 6656
    assert sizes(again)["n_heads"] == 52
    assert again.session_state["settings"]["cost_layers"] == 31
    assert Place("compute").defaults({"preset": key})["d_latent_kv"] == 384


def test_a_dropped_file_has_the_sizes_that_the_engine_loads(opened, demo):
    data = (Path(demo) / "config.json").read_bytes()
    loaded = load_attention(open_checkpoint(Path(demo)), 0).config
    at = given(opened(PAGE), file=data)
    assert not at.error
    shared = mechanisms.sizes_of(loaded)
    assert sizes(at) == {name: shared[name] for name in SIZES}
    assert preset_of(at.session_state["settings"]["preset"]).config == loaded


def test_of_a_repository_config_json_alone_is_read(opened, demo, empty_cache, monkeypatch):  # noqa: F811
    shared_cache.clear()  # what another test read of a hub of its own
    with serving(Path(demo)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        at = given(opened(PAGE), name="who/model")
        assert not at.error
        assert is_own(at.session_state["settings"]["preset"])
        assert {path.rpartition("/")[2] for _, path, _ in hub.asked} == {"main", "config.json"}
    shared_cache.clear()


def test_a_stored_name_is_its_preset(opened):
    at = given(opened(PAGE), name="kimi-k2")
    assert at.session_state["settings"]["preset"] == "kimi-k2"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "Give a repository's name"),
        ("{", "config.json"),
        (json.dumps(OWN | {"num_attention_heads": 200}), "n_heads (200) must be at least 1"),
        (json.dumps(OWN | {"model_type": "<b>"}), "kv_lora_rank"),
        (json.dumps(LLAMA_3_70B | {"model_type": "phi3"}), "KV cache"),
        (json.dumps(V3 | {"model_type": "phi3", "hidden_size": 7168}), "kv_lora_rank would do"),
    ],
)
def test_what_cannot_be_shown_changes_nothing_and_is_named(opened, text, named):
    at = opened(PAGE, preset="kimi-k2")
    before = dict(at.session_state["settings"])
    given(at, text)
    assert named in refusal(at)
    assert "<b>" not in at.error[0].value
    assert at.session_state["settings"] == before
    assert at.title


def test_a_hybrid_says_which_layer_it_is(opened):
    at = given(opened(PAGE), json.dumps(KIMI))
    assert "layer 3 of 8 layers" in captions(at)
    assert "The layers of kimi_linear are 2 × MLA, 6" in captions(at)
    assert at.session_state["settings"]["cost_layers"] == 2


def test_another_preset_leaves_it(opened):
    at = opened(PAGE, preset=KEY)
    at.selectbox(key="preset").set_value("kimi-k2").run()
    assert sizes(at)["d_model"] == 7168
    assert at.session_state["settings"]["cost_layers"] == 61
    assert link(at) == {"preset": "kimi-k2"}


@pytest.mark.parametrize("page", ["app.py", PAGE, "pages/absorption.py", "pages/kv_cache.py"])
def test_a_model_of_linear_attention_alone_opens_on_every_kind_of_page(opened, page):
    linear = given_preset(DeltaConfig(d_model=64, n_heads=2, d_head=16), name="linear")
    at = opened(page, preset=linear.key)
    assert not at.warning
    assert not at.error
    chosen = at.session_state["settings"]
    assert (chosen["preset"], chosen["variant"], chosen["d_head"]) == (linear.key, "kda", 16)


@pytest.mark.parametrize("text", [FORGED["cut"], FORGED["unfolds without end"], FORGED["nothing"]])
def test_a_forged_link_opens_with_a_line(opened, text):
    at = opened(PAGE, preset=text)
    assert "preset" in html.unescape(at.warning[0].value)
    assert not is_own(at.session_state["settings"]["preset"])


def test_a_size_is_typed_exactly(opened):
    at = opened(PAGE, preset="deepseek-v3")
    at.number_input(key="d_model:typed").set_value(6656).run()
    assert sizes(at)["d_model"] == 6656
    assert link(at) == {"preset": "deepseek-v3", "d_model": "6656"}
    assert at.select_slider(key="d_model").value == 6656


@pytest.mark.parametrize(
    ("name", "typed", "named"),
    [
        ("d_model", 99999, "d_model (99999) must be at least 2 and at most 16,384"),
        ("d_head", 65, "d_head (65) must be a multiple of 2: try 64"),
        ("n_heads", 0, "n_heads (0) must be at least 1"),
        ("cost_layers", 5000, "must be at least 1 and at most 1,024"),
    ],
)
def test_a_typed_number_that_cannot_be_is_named_and_not_taken(opened, name, typed, named):
    at = opened(PAGE, preset="deepseek-v3")
    before = dict(at.session_state["settings"])
    at.number_input(key=f"{name}:typed").set_value(typed).run()
    assert named in refusal(at)
    assert at.session_state["settings"] == before
    assert at.number_input(key=f"{name}:typed").value == before[name]
    at.run()
    assert not at.error, "it is said once"


def test_layers_are_typed_and_multiply_the_page(opened):
    at = opened(PAGE, preset="deepseek-v3")
    assert "layers 61" in captions(at)
    at.number_input(key="cost_layers:typed").set_value(7).run()
    assert "layers 7" in captions(at)
    assert link(at)["cost_layers"] == "7"


def test_the_cache_page_takes_a_dropped_file_and_shows_it_everywhere(opened):
    at = opened("pages/kv_cache.py")
    file = ("config.json", json.dumps(OWN).encode(), "application/json")
    at.file_uploader(key="kv_config:file").set_value(file).run()
    assert any("** stores **25,792 B**" in one.value for one in at.main.markdown)
    pressed(at, "Show it on every page")
    key = at.session_state["settings"]["preset"]
    assert preset_of(key).config == preset_of_config(OWN, "").config
    assert at.session_state["settings"]["kv_left"] == key


def test_a_file_of_megabytes_that_list_what_is_quantised_is_taken(opened):
    at = opened("pages/kv_cache.py")
    long = json.dumps(OWN | {"quantization_config": listed()}, indent=0).encode()
    assert len(long) > 3_000_000
    at.file_uploader(key="kv_config:file").set_value(
        ("config.json", long, "application/json")
    ).run()
    assert any("** stores **25,792 B**" in one.value for one in at.main.markdown)
    pressed(at, "Show it on every page")
    assert preset_of(at.session_state["settings"]["preset"]).config == preset_of(KEY).config
