"""A real layer of a mechanism that no page shows: a sentence, no picture of it, and no crash."""

import html

import pytest
from transformers import Glm5NextTextConfig
from transformers.models.glm5_next.modeling_glm5_next import Glm5NextTextModel

from tests.checkpoints.models import GLM_5_3
from tests.checkpoints.pooled_model import saved
from tests.checkpoints.texts import TEXT, add_tokenizer
from ui.engine.apart.ask import ask


@pytest.fixture(scope="module")
def v4(models):
    return str(add_tokenizer(saved(models / "deepseek_v4", published=False)))


@pytest.mark.parametrize("page", ["real_models", "attention_maps", "decode", "absorption"])
def test_says_so_and_shows_what_it_shows_without_one(opened, v4, page):
    for layer in ("0", "2"):
        app = opened(f"pages/{page}.py", source=v4, layer=layer, text=TEXT)
        [told] = [html.unescape(error.value) for error in app.error]
        assert "no page shows attention to pooled entries: choose another model" in told
        assert app.title
        assert not app.exception


def test_a_layer_with_pooled_index_keys_is_not_shown_as_one_whose_keys_are_not(opened, models):
    folder = models / "glm5_next"
    Glm5NextTextModel(Glm5NextTextConfig(**GLM_5_3)).save_pretrained(folder)
    app = opened("pages/real_models.py", source=str(add_tokenizer(folder)), layer="2", text=TEXT)
    [told] = [html.unescape(error.value) for error in app.error]
    assert "no page shows attention with an indexer over pooled keys" in told
    assert not app.exception


def test_nothing_of_it_is_fetched(opened, v4, monkeypatch):
    asked = []

    def noted(what, *given, **named):
        asked.append(what)
        return ask(what, *given, **named)

    monkeypatch.setattr("ui.engine.real_layer.ask", noted)
    app = opened("pages/real_models.py", source=v4, layer="3", text=TEXT, lang="zh")
    assert set(asked) == {"plan"}
    assert "没有页面能展示关注池化条目的注意力" in html.unescape(app.error[0].value)
