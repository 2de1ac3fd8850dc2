"""Real models: transformers' attention, what cannot be read, files, and work in pieces."""

import html
import shutil
from collections.abc import Callable

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM

from mla_engine.checkpoints import build_demo, hidden_states
from mla_engine.checkpoints.families import FAMILIES
from mla_engine.checkpoints.load import NOTES
from tests.checkpoints.models import built
from tests.checkpoints.texts import IDS, TEXT, folder_of
from tests.ui.screen import charts, clicked, says, statement
from tests.ui.test_page_contract import APART, BARE
from ui.parts import checkpoint
from ui.words.text import catalogue

PAGE = "pages/real_models.py"
WORDS = "The cat sat on the mat."
HEADS, LAYERS, D_MODEL = 8, 4, 256
Opened = Callable[..., AppTest]


@pytest.fixture(scope="module")
def attentions(demo: str) -> tuple[torch.Tensor, ...]:
    """Return every layer's [1,h,t,s], by the model as transformers runs it."""
    model = AutoModelForCausalLM.from_pretrained(
        demo, dtype=torch.float32, attn_implementation="eager"
    )
    ids = torch.tensor([hidden_states(demo, WORDS, 0).ids])
    with torch.no_grad():
        return model(ids, output_attentions=True).attentions


def drawn(app: AppTest) -> np.ndarray:
    """The chosen head's map."""
    return clicked(app, "large").values(0, "z")


def ticks(app: AppTest) -> list[str]:
    """Return what stands beside its rows."""
    return clicked(app, "large").layout["yaxis"]["ticktext"]


def said(app: AppTest) -> str:
    """All prose of the page."""
    found = [*app.title, *app.markdown, *app.caption, *app.info, *app.error, *app.warning]
    return "\n".join(html.unescape(each.value) for each in found)


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def click(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


@pytest.mark.parametrize("layer", [0, 2])
def test_a_link_shows_the_models_own_attention(opened, demo, attentions, layer):
    app = opened(PAGE, source=demo, text=WORDS, layer=str(layer), map_head="3")
    shown, expected = drawn(app), attentions[layer][0, 3].numpy()
    seen = np.tril(np.ones_like(expected, dtype=bool))
    assert shown[seen] == pytest.approx(expected[seen], abs=2e-6)
    assert np.isnan(shown[~seen]).all()
    assert ticks(app)[:3] == ["&lt;|begin_of_…", "The", "␣cat"]
    assert ("from the embedding" in said(app)) == (layer == 0)
    assert (says(said(app), "checkpoint.from_prefix", layers="2")) == (layer == 2)
    assert "random demonstration weights" in said(app)
    assert all(chart.alt for chart in charts(app))


def test_without_a_model_the_page_says_what_can_be_read(opened, demo, monkeypatch):
    monkeypatch.setattr(checkpoint, "DEMO", demo)
    app = opened(PAGE, code="source")
    assert not charts(app)
    assert not app.code
    assert "no code" in said(app)
    assert "make demo-model" in said(app)
    assert all(f"`{family}`" in said(app) for family in FAMILIES)
    click(app, "Use the demonstration model")
    assert app.query_params["source"] == demo
    assert says(statement(app), "real_models.line", heads=HEADS)


def test_a_demonstration_that_may_not_be_read_is_not_offered(opened, models, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "DEMO", str(build_demo(tmp_path / "demo")))
    assert not says(labels(opened(PAGE)), "checkpoint.demo")


@pytest.mark.parametrize(
    ("name", "heads", "note"),
    [
        ("llama", "6 heads read 2 KV heads", ""),
        ("gpt2", "6 heads read 6 KV heads", "Positions are learned"),
        ("qwen2", "6 heads read 2 KV heads", ""),
    ],
)
def test_a_grouped_model_shows_maps_and_says_what_is_left_out(opened, models, name, heads, note):
    folder = str(folder_of(name, models))
    app = opened(PAGE, source=folder, text=TEXT, map_head="3")
    assert statement(app).endswith(f"({heads})")
    assert says(app.info[0].value, "real_models.no_latent")
    assert note in said(app)
    with torch.no_grad():
        expected = built(name)(torch.tensor([IDS]), output_attentions=True).attentions[0][0, 3]
    shown = drawn(app)
    seen = ~np.isnan(shown)
    assert shown[seen] == pytest.approx(expected.numpy()[seen], abs=1e-5)
    assert len(charts(app)) == 4


def test_every_note_of_a_plan_has_its_sentence():
    assert {f"checkpoint.note_{note.replace(' ', '_')}" for note in NOTES} <= set(catalogue())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent", "is not a folder that may be read"),
        ("../outside", "lies outside the folders that this server reads"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("nobody/nothing", "the Hub cannot be reached"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_page_lives(opened, models, monkeypatch, name, reason):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens
    named = name if name == "nobody/nothing" else str(models / name)
    app = opened(PAGE, source=named)
    assert reason in html.unescape(app.error[0].value)
    assert "<b>" not in app.error[0].value
    assert "seeded" not in app.error[0].value, "nothing seeded follows here"
    assert app.query_params["source"] == named
    assert "make demo-model" in said(app)
    assert not charts(app)
    click(app, "Back to seeded weights")
    assert not app.error
    assert "source" not in app.query_params


def test_a_layer_beyond_the_last_comes_to_the_last(opened, demo):
    app = opened(PAGE, source=demo, text=WORDS, layer="27")
    assert app.query_params["layer"] == str(LAYERS - 1)
    assert says(said(app), "common.changed_setting", name="layer", given="27", used="3")
    assert statement(app).startswith("In layer 3 of it's a demo")


def test_a_text_over_the_limit_is_refused(opened, demo):
    app = opened(PAGE, source=demo, text="? ! " * 300)
    assert says(html.unescape(app.error[0].value), "checkpoint.too_many", most="512")
    app.text_area(key="text").set_value(WORDS).run()
    assert not app.error
    assert charts(app)


def test_a_models_name_is_never_markup(opened, models, demo):
    folder = shutil.copytree(demo, models / "a *b* _c_ <i>")
    app = opened(PAGE, source=str(folder), text=WORDS)
    assert statement(app).startswith("In layer 0 of a &#42;b&#42; &#95;c&#95; &lt;i&gt;, ")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_symbol_stands_bare_in_prose(opened, demo, lang):
    app = opened(PAGE, source=demo, text=WORDS, real_layers="1", lang=lang)
    for written in (*app.markdown, *app.caption):
        assert not BARE.findall(APART.sub("", html.unescape(written.value))), written.value
        assert written.allow_html or "<span" not in written.value


def test_a_language_switch_keeps_everything(opened, demo):
    link = {"source": demo, "text": WORDS, "layer": "1", "map_head": "2", "real_matrix": "W_UV"}
    app = opened(PAGE, **link, lang="en")
    app.segmented_control(key="lang").set_value("zh").run()
    assert statement(app).startswith("在 it's a demo 第 1 层")
    app.number_input(key="map_head").set_value(3).run()
    app.segmented_control(key="lang").set_value("en").run()
    kept = {name: app.query_params[name] for name in link}
    assert kept == link | {"map_head": "3"}
