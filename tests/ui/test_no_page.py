"""A real layer on a page that does not show it: a sentence, no picture of it, and no crash."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import Glm5NextTextConfig
from transformers.models.glm5_next.modeling_glm5_next import Glm5NextTextModel

from mla_engine.pooled.mechanism import MECHANISM
from tests.checkpoints.models import GLM_5_3
from tests.checkpoints.pooled_model import built, saved
from tests.checkpoints.texts import IDS, TEXT, add_tokenizer
from tests.ui.screen import clicked, refusal
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
    monkeypatch.setattr("ui.engine.shown._variants", only)
    app = opened(f"pages/{page}.py", source=v4, layer="0", text=TEXT)
    said = "no page shows a layer of the kind SWA, which layer 0 is: choose layer 1"
    assert said in refusal(app)
    next(b for b in app.button if b.label == "Show layer 1").click().run()
    assert "give its hidden states" in refusal(app), "no page, but what enters it, is missing"


def test_a_page_of_ways_does_not_show_a_window_which_is_none(opened, v4):
    said = refusal(opened("pages/decode.py", source=v4, layer="0", text=TEXT))
    assert "does not show a layer of the kind SWA, which layer 0 is, but Attention maps, " in said
    assert said.split(" do: go there, or choose layer 1")[0].endswith("Compare")


@pytest.mark.parametrize(("layer", "entries"), [(0, 0), (1, 2), (2, 6)])
def test_a_real_layers_map_is_that_of_transformers_with_the_sink_behind_it(
    opened, v4, layer, entries
):
    found = []
    attention = built().model.layers[layer].self_attn
    keep = lambda _, given, __, out: found.append((given[0], out[1]))  # noqa: E731
    handle = attention.register_forward_hook(keep, with_kwargs=True)
    built()(torch.tensor([IDS * 3]))
    handle.remove()
    ((h, weights),) = found
    file = Path(v4) / f"h{layer}.safetensors"
    save_file({"h": h[0].contiguous()}, file)
    link = {"source": v4, "layer": str(layer), "activations": str(file), "map_head": "3"}
    app = opened("pages/attention_maps.py", **link, text=" ".join([TEXT] * 3))
    assert not [error.value for error in app.error]
    shares = clicked(app, "large").values(0, "z")
    assert shares.shape == (24, 24 + entries + 1)
    np.testing.assert_allclose(np.nan_to_num(shares[:, :-1]), weights[0, 3], atol=1e-5)
    np.testing.assert_allclose(np.nansum(shares, -1), np.ones(24), rtol=1e-5)
    assert not any("weights are random" in one.value for one in app.markdown)


@pytest.fixture(scope="module")
def glm_5_3(models):
    """A small GLM-5.3 as transformers saves it, with a layer's input and its attention there."""
    torch.manual_seed(3)
    config = Glm5NextTextConfig(**GLM_5_3, attn_implementation="eager")
    model = Glm5NextTextModel(config).eval().requires_grad_(False)
    for name, parameter in model.named_parameters():
        if "self_attn" in name:
            parameter.normal_(1.0 if "norm" in name else 0.0, 0.3)
    folder, found = models / "glm5_next", []
    keep = lambda _, __, given, out: found.append((given["hidden_states"], out[1]))  # noqa: E731
    model.layers[2].self_attn.register_forward_hook(keep, with_kwargs=True)
    model(torch.tensor([IDS * 3]))
    model.save_pretrained(folder)
    ((h, weights),) = found
    save_file({"h": h[0].contiguous()}, folder / "h.safetensors")
    return str(add_tokenizer(folder)), weights[0].numpy()


@pytest.mark.parametrize("page", ["attention_maps", "real_models"])
def test_a_real_layer_with_pooled_index_keys_is_drawn_with_what_it_chose(opened, glm_5_3, page):
    """Six tokens of three blocks of two, and of a query's own block while that is not full."""
    source, weights = glm_5_3
    link = {"source": source, "layer": "2", "activations": f"{source}/h.safetensors"}
    app = opened(f"pages/{page}.py", **link, map_head="1", text=" ".join([TEXT] * 3))
    assert not app.error
    chart = clicked(app, "large")
    shares, seen = chart.values(0, "z"), weights[1] > 0
    np.testing.assert_allclose(np.nan_to_num(shares), weights[1], atol=1e-5)
    np.testing.assert_array_equal(np.isfinite(shares), seen)
    assert set(seen.sum(1)) == {*range(1, 7), 7}
    left = next(t for t in chart.traces if "not chosen<" in t.get("hovertemplate", ""))
    drawn = np.isfinite(chart.values(left, "z"))
    np.testing.assert_array_equal(drawn, np.tri(24, dtype=bool) & ~seen)


def test_nothing_of_it_is_fetched(opened, v4, monkeypatch):
    asked = []

    def noted(what, *given, **named):
        asked.append(what)
        return ask(what, *given, **named)

    monkeypatch.setattr("ui.engine.real_layer.ask", noted)
    app = opened("pages/rope.py", source=v4, layer="3", text=TEXT, lang="zh")
    assert set(asked) == {"plan"}
    assert "本页不能展示关注池化条目的注意力，能展示的页面：注意力图、" in refusal(app)
