"""A link names a real layer: it is described, escaped, kept, and left again."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.ui.conftest import CHECKPOINT
from tests.ui.controls import control, pressed
from tests.ui.screen import charts, component, says
from tests.ui.test_real_layer import title
from ui.engine import folders

LATENT_PAGES = ("rope", "absorption")
PAGES = ("attention_maps", "compression", "decode", "compare", *LATENT_PAGES)
HOSTILE = ("<b>bold</b>", "$x$", "*y*", "[z](http://a.b)", "`", "&amp;")


def without(name: str):
    def change(folder: Path) -> None:
        (folder / name).unlink()

    return change


def with_nan(folder: Path) -> None:
    for file in folder.glob("*.safetensors"):
        tensors = load_file(file)
        for name, tensor in tensors.items():
            if "layers.1.self_attn.kv_b_proj" in name:
                tensor[0, 0] = torch.nan
        save_file(tensors, file, {"format": "pt"})


@pytest.fixture(scope="module")
def changed(demo):
    """`changed(name, change)`: a copy of the demonstration model with a fault."""

    def copy(name, change) -> str:
        folder = Path(demo).parent / name
        if not folder.exists():
            change(Path(shutil.copytree(demo, folder)))
        return str(folder)

    return copy


@pytest.mark.parametrize("page", PAGES)
def test_what_cannot_be_read_is_said_and_the_page_lives(real, changed, demo, page):
    far = {"source": str(Path(demo).parent / "none")}
    outside = {"source": "/etc"}
    long = {"text": "a b " * 300}
    no_words = {"source": changed("mute", without("tokenizer.json"))}
    cases = [(far, "none"), (outside, "lies outside"), (long, "512 can be drawn")]
    for link, reason in (*cases, (no_words, "tokenizer")):
        at = real(page, **link)
        assert reason in at.error[0].value
        assert "seeded weights" in at.error[0].value
        for name, value in link.items():
            assert at.query_params[name] == value
        assert charts(at) or component(at, "growing"), "the page goes on"


@pytest.mark.parametrize("page", PAGES)
def test_weights_with_nan_are_refused(real, changed, page):
    link = {"vs_view": "maps"} if page == "compare" else {}
    at = real(page, source=changed("nan", with_nan), **link)
    assert any("NaN" in error.value for error in at.error)
    assert at.query_params["layer"] == str(CHECKPOINT)
    assert control(at, "source").value.endswith("nan")


@pytest.mark.parametrize("page", LATENT_PAGES)
def test_a_model_without_latents_waits_for_another_page(real, llama, page):
    at = real(page, source=llama)
    assert says(at.error[0].value, "checkpoint.no_latent")
    assert at.query_params["source"] == llama


@pytest.mark.parametrize("page", PAGES)
def test_a_models_tokens_are_never_markup(real, demo, page):
    file = Path(demo).parent / "saved.safetensors"
    save_file({"h": torch.randn(6, 256)}, file, {"tokens": json.dumps(HOSTILE)})
    views = {"compare": {"vs_view": "maps"}, "rope": {"rope_topic": "turning"}}
    states = [views.get(page, {}), {"rope_topic": "pairing"} if page == "rope" else {"lang": "zh"}]
    for link in states:
        at = real(page, activations=str(file), map_query="1", map_key="0", **link)
        assert not at.error
        kinds = (at.title, at.markdown, at.caption, at.subheader, at.warning)
        texts = [element.value for kind in kinds for element in kind]
        labels = [*at.slider, *at.select_slider, *at.number_input, *at.button, *at.metric]
        texts += [widget.label for widget in labels]
        texts += [element.proto.body for element in at.get("html")]
        for token in HOSTILE[:4]:
            assert not any(token in text for text in texts if "<style" not in text), token
        assert not any(
            HOSTILE[0] in json.dumps(one.spec) for one in charts(at)
        )  # which know only HTML


def test_choosing_and_leaving_by_the_widgets(opened, demo):
    at = opened("pages/rope.py", d_rope="32", rope_topic="yarn")
    control(at, "source").set_value(demo).run()
    assert "a demo" in title(at)
    control(at, "layer").set_value(2).run()
    control(at, "text").set_value("the moon").run()
    assert {n: at.query_params[n] for n in ("source", "layer", "text")} == {
        "source": demo, "layer": "2", "text": "the moon",
    }  # fmt: skip
    next(b for b in at.button_group if b.key == "lang").set_value("zh").run()
    assert at.query_params["text"] == "the moon"
    assert control(at, "layer").value == 2
    pressed(at, "改回按种子生成的权重")
    assert set(at.query_params) == {"d_rope", "rope_topic", "lang"}
    assert "DeepSeek-V2-Lite" in title(at)


def test_a_reset_of_a_page_leaves_a_model_that_it_cannot_show(opened, demo):
    link = {"source": demo, "layer": "2", "seed": "5"}
    at = opened("app.py", **link)
    pressed(at, "Reset this page")
    assert at.query_params.get("source") == demo
    at = opened("pages/decode.py", **link)
    pressed(at, "Reset this page")
    assert at.query_params == {}
    assert not at.exception


def test_models_may_be_a_link_to_another_disk(opened, demo, tmp_path, monkeypatch):
    app = tmp_path / "app"
    app.mkdir()
    (app / "models").symlink_to(shutil.copytree(demo, tmp_path / "disk" / "demo").parent)
    monkeypatch.setenv("MLA_MODEL_FOLDERS", "models")
    monkeypatch.setattr(folders, "APP", app)
    at = opened("pages/attention_maps.py")
    pressed(at, "Use the demonstration model")
    assert not at.error
    assert at.query_params["source"] == "models/demo"
    assert any("demo" in caption.value for caption in at.caption)
