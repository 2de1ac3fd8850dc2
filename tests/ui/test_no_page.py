"""A real layer on a page that does not show it: a sentence, no picture of it, and no crash."""

import pytest

from mla_engine.pooled.mechanism import MECHANISM
from tests.checkpoints.pooled_model import saved
from tests.checkpoints.texts import TEXT, add_tokenizer
from tests.ui.screen import refusal, says
from ui.engine.workers.pool import ask


@pytest.fixture(scope="module")
def v4(models):
    return str(add_tokenizer(saved(models / "deepseek_v4", published=False)))


@pytest.mark.parametrize("layer", ["0", "2"], ids=["window", "CSA"])
@pytest.mark.parametrize("page", ["rope", "absorption"])
def test_a_page_that_does_not_show_it_names_those_that_do(opened, v4, page, layer):
    app = opened(f"pages/{page}.py", source=v4, layer=layer, text=TEXT)
    said = refusal(app)
    assert "this page does not show attention to pooled entries, but Attention maps, " in said
    pages = said.split(" do: go there, or choose another model")[0]
    assert "Real models" in pages
    assert pages.endswith("Compare")
    assert app.title
    assert not app.exception


@pytest.mark.parametrize("page", ["attention_maps", "compare"])
def test_a_kind_that_no_page_shows_is_refused_with_the_next_layer_that_is(
    opened, v4, page, monkeypatch
):
    variants = [one for one in MECHANISM.variants if one.offered]
    only = lambda config: variants if config.pooling else []  # noqa: E731
    monkeypatch.setattr("ui.sources.checkpoint._variants", only)
    app = opened(f"pages/{page}.py", source=v4, layer="0", text=TEXT)
    said = "no page shows a layer of the kind SWA, which layer 0 is: choose layer 1"
    assert said in refusal(app)
    next(b for b in app.button if b.label == "Show layer 1").click().run()
    assert says(refusal(app), "file.streams"), "no page, but what enters it, is missing"


def test_a_page_of_ways_does_not_show_a_window_which_is_none(opened, v4):
    said = refusal(opened("pages/decode.py", source=v4, layer="0", text=TEXT))
    assert "does not show a layer of the kind SWA, which layer 0 is, but Attention maps, " in said
    assert said.split(" do: go there, or choose layer 1")[0].endswith("Compare")


def test_nothing_of_it_is_fetched(opened, v4, monkeypatch):
    asked = []

    def noted(what, *given, **named):
        asked.append(what)
        return ask(what, *given, **named)

    monkeypatch.setattr("ui.sources.checkpoint.ask", noted)
    app = opened("pages/rope.py", source=v4, layer="3", text=TEXT, lang="zh")
    assert set(asked) == {"plan"}
    assert "本页不能展示关注池化条目的注意力，能展示的页面：注意力图、" in refusal(app)
