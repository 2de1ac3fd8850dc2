"""Sides of the reader's own: by a name, a config.json, or sizes that are typed and kept."""

import html
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from kvcount.tests.published import LLAMA_3_70B
from tests.checkpoints.conftest import empty_cache  # noqa: F401, a fixture
from tests.checkpoints.serving import serving
from tests.checkpoints.test_own_preset import KIMI, OWN
from tests.sampling import covering
from tests.ui.controls import link, pressed
from tests.ui.screen import charts, lead, says, speech, statement
from ui.engine import shared_cache
from ui.settings.parsers import is_own, preset_of

PAGE = "pages/compare.py"
LINK = {"preset": "deepseek-v3", "vs_view": "flow"}
MINE = json.dumps(OWN | {"_name_or_path": "me/mine"})
SIDES = {"A": "vs_left", "B": "vs_right"}
VARIANTS = ("mha", "gqa", "mqa", "mla", "mla_absorbed", "dsa", "csa", "hca", "kda")
Opened = Callable[..., AppTest]


def given(at: AppTest, side: str, text: str = "", name: str = "", file: bytes = b"") -> AppTest:
    """The form behind the button, filled in and sent for one side."""
    at.text_area(key="compare_model:text").set_value(text)
    at.text_input(key="compare_model:name").set_value(name)
    if file:
        told = ("config.json", file, "application/json")
        at.file_uploader(key="compare_model:file").set_value(told)
    return pressed(at, f"Show as {side}")


def typed(at: AppTest, **sizes: int) -> AppTest:
    for name, size in sizes.items():
        at.number_input(key=f"{name}:typed").set_value(size).run()
    assert not at.exception
    return at


def settings(at: AppTest) -> dict[str, object]:
    return dict(at.session_state["settings"])


def column(at: AppTest, letter: str) -> dict[str, str]:
    """The sizes of one side as the table writes them."""
    return dict(at.table[0].value[letter])


def layer(at: AppTest, letter: str) -> dict[str, str]:
    """Return a row as `column`, without a model's layers, which our own small sizes have not."""
    return {row: said for row, said in column(at, letter).items() if not row.startswith("Layers")}


def flow(at: AppTest, letter: str) -> str:
    """Every step of a side with its shape."""
    return charts(at)["AB".index(letter)].alt


@pytest.mark.parametrize("side", SIDES)
def test_a_pasted_config_is_that_side_and_a_link_brings_it_back(opened: Opened, side: str):
    at = given(opened(PAGE, **LINK), side, MINE)
    other = "B" if side == "A" else "A"
    assert not at.error
    assert f"{side}: mine, MLA, absorbed keeps {384 + 32}" in statement(at)
    own = column(at, side)
    assert (own["Model width d"], own["Heads n_h"], own["KV latent d_c"]) == ("6,656", "52", "384")
    assert own["Layers of the model"] == "31"
    assert column(at, other)["Model width d"] == "7,168"
    assert set(link(at)) == {"preset", "vs_view", SIDES[side], *["vs_right_as"] * (side == "B")}
    again = opened(PAGE, **link(at))
    assert settings(again) == settings(at)
    assert lead(again) == lead(at)
    assert f"{side}: mine, layer 0 of 31 layers" in speech(again)
    assert f"{other}: mine" not in speech(again)


def test_both_sides_can_be_given_and_the_pickers_offer_them(opened: Opened):
    at = given(opened(PAGE, **LINK), "A", MINE)
    at = given(at, "B", json.dumps(KIMI | {"_name_or_path": "me/hybrid"}))
    for name in SIDES.values():
        assert {"mine", "hybrid"} <= set(at.selectbox(key=f"{name}").options)
    assert "B: hybrid, layer 3 of 8 layers" in speech(at)
    assert "A: mine, MLA" in statement(at)
    assert "B: hybrid, MLA" in statement(at)
    at.selectbox(key="vs_left").set_value("kimi-k2").run()
    assert link(at)["vs_left"] == "kimi-k2"
    assert "B: hybrid, MLA" in statement(at)


def test_a_dropped_file_goes_before_a_text(opened: Opened, demo: str):
    data = (Path(demo) / "config.json").read_bytes()
    at = given(opened(PAGE, **LINK), "B", MINE, file=data)
    assert not at.error
    assert column(at, "B")["Model width d"] == str(json.loads(data)["hidden_size"])


def test_of_a_repository_config_json_alone_is_read(
    opened: Opened,
    demo: str,
    empty_cache: object,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
):
    shared_cache.clear()  # what another test read of a hub of its own
    with serving(Path(demo)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        at = given(opened(PAGE, **LINK), "A", name="who/model")
        assert not at.error
        assert "A: model, MLA, absorbed keeps" in statement(at)
        assert {path.rpartition("/")[2] for _, path, _ in hub.asked} == {"main", "config.json"}
    shared_cache.clear()


def test_a_stored_name_is_its_preset_with_its_own_attention(opened: Opened):
    at = given(opened(PAGE, **LINK), "B", name="llama-3-8b")
    assert (link(at)["vs_right"], link(at)["vs_right_as"]) == ("llama-3-8b", "own")
    assert "B: Llama-3-8B, GQA keeps 2,048" in statement(at)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "Give a repository's name"),
        (json.dumps({k: v for k, v in OWN.items() if k != "v_head_dim"}), "v_head_dim"),
        (json.dumps(OWN | {"num_attention_heads": 200}), "n_heads (200) must be at least 1"),
        (json.dumps(OWN | {"model_type": "<b>"}), "kv_lora_rank"),
        (json.dumps(LLAMA_3_70B | {"model_type": "phi3"}), "KV cache"),
    ],
)
def test_what_cannot_be_shown_changes_nothing_and_is_named(opened: Opened, text: str, named: str):
    at = opened(PAGE, **LINK, vs_left="kimi-k2")
    before, said = settings(at), lead(at)
    given(at, "A", text)
    assert len(at.error) == 1
    assert named in html.unescape(at.error[0].value)
    assert "<b>" not in at.error[0].value
    assert settings(at) == before
    assert lead(at) == said


@pytest.mark.parametrize(
    ("preset", "variant"),
    covering(product(["deepseek-v3", "llama-3-8b", "gpt-oss-20b", "small"], VARIANTS), 14, iter),
)
def test_typed_sizes_are_kept_for_one_side(opened: Opened, preset: str, variant: str):
    sizes = {"d_model": "96", "n_heads": "6", "n_kv_heads": "3", "d_head": "10", "d_value": "6"}
    sizes |= {"d_latent_kv": "20", "d_latent_q": "28", "d_rope": "6"}
    asked = LINK | sizes | {"preset": preset, "vs_left_as": variant, "vs_right_as": variant}
    at = opened(PAGE, **asked)
    before = layer(at, "A"), flow(at, "A"), lead(at)[0]
    pressed(at, "Keep as A")
    assert not at.error
    assert is_own(link(at)["vs_left"])
    assert (layer(at, "A"), flow(at, "A"), lead(at)[0]) == before
    at = typed(opened(PAGE, **link(at)), d_model=64)
    assert (layer(at, "A"), flow(at, "A")) == before[:2]
    assert column(at, "B")["Model width d"] == "64"


def test_kept_sizes_are_named_by_what_was_typed(opened: Opened):
    at = typed(opened(PAGE, **LINK), d_model=4096, d_latent_kv=256)
    pressed(at, "Keep as B")
    name = preset_of(link(at)["vs_right"]).name
    assert name == "DeepSeek-V3 R1 671B d_model 4096"  # MHA, as B is shown, has no latent
    assert f"B: {name}, MHA keeps 32,768" in statement(at)
    at = pressed(at, "Keep as A")
    assert "A: DeepSeek-V3 R1 671B d_model 4096 d_latent_kv 256, MLA" in statement(at)
    assert column(at, "A")["Layers of the model"] == "61"


def test_a_name_has_no_half_of_a_size(opened: Opened):
    asked = {"d_model": "1024", "n_heads": "16", "d_head": "64", "d_value": "64"}
    at = pressed(opened(PAGE, **LINK, **asked, d_rope="32"), "Keep as A")
    kept_as = preset_of(link(at)["vs_left"]).name
    assert kept_as == "DeepSeek-V3 R1 671B d_model 1024 n_heads 16 d_head 64"
    assert column(at, "A")["Value width d_v"] == "64"


def test_sizes_that_nobody_changed_are_the_preset(opened: Opened):
    at = pressed(opened(PAGE, **LINK, n_kv_heads="4"), "Keep as A")
    assert link(at)["vs_left"] == "deepseek-v3"
    assert link(at)["vs_left_as"] == "mla_absorbed"
    at = pressed(opened(PAGE, **LINK, variant="gqa", n_kv_heads="4"), "Keep as A")
    assert "A: DeepSeek-V3 R1 671B n_kv_heads 4, GQA keeps 1,024" in statement(at)


def test_trained_models_have_no_sizes_to_keep(opened: Opened, real):
    labels = {"Keep as A", "Keep as B"}
    for at in (opened(PAGE), real("compare")):
        assert says(speech(at), "compare.keep_none")
        assert not labels & {one.label for one in at.button}
    at = given(opened(PAGE), "B", MINE)
    assert "B: mine, MLA, absorbed keeps 416" in statement(at)
    assert labels <= {one.label for one in opened(PAGE, **LINK).button}


def test_a_text_that_looks_like_a_key_is_no_model(opened: Opened):
    at = opened(PAGE, **LINK, text="own.abc")
    assert "own.abc" not in at.selectbox(key="vs_left").options


def test_a_side_that_cannot_be_drawn_can_still_be_given_another(opened: Opened, monkeypatch):
    def refuse(*_: object) -> None:
        raise ValueError("these sizes cannot be")

    monkeypatch.setattr("ui.sources.model.Model.config", refuse)
    at = opened(PAGE, **LINK, vs_right="kimi-k2")
    assert "these sizes cannot be" in at.error[0].value
    given(at, "A", MINE)
    assert not at.error
    assert "A: mine, MLA" in statement(at)
