"""The overview as a deep link, and its figures against the engine's real layers and caches."""

import html
from collections.abc import Callable

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, GroupedQueryAttention, KVCache, LatentCache
from mla_engine.latent import MultiHeadLatentAttention

Opened = Callable[..., AppTest]


def metrics(at: AppTest) -> list[str]:
    return [metric.value for metric in at.metric]


def parameters_of(layer: torch.nn.Module) -> str:
    return f"{sum(p.numel() for p in layer.parameters()) / 1e6:.3g} M"


def test_the_figures_are_those_of_the_real_layer(opened: Opened) -> None:
    at = opened(variant="mla_absorbed")
    config = PRESETS["deepseek-v2-lite"].config
    cache = LatentCache.empty(config, capacity=1)
    held = cache.reserved_nbytes // 4
    mha = 2 * 16 * 128
    layer = MultiHeadLatentAttention(config, device="meta")
    assert metrics(at) == [f"{held}", f"{mha / held:.3g}×", parameters_of(layer), "2.25"]
    assert f"caches {held} numbers" in at.title[0].value


def test_a_preset_sets_sizes_and_variant(opened: Opened) -> None:
    at = opened()
    at.selectbox[0].set_value("llama-3-8b").run()
    config = PRESETS["llama-3-8b"].config
    held = KVCache.empty(config, capacity=1).reserved_nbytes // 4
    assert metrics(at)[0] == f"{held:,}" == "2,048"
    assert metrics(at)[2] == parameters_of(GroupedQueryAttention(config, device="meta"))
    assert at.session_state["settings"]["variant"] == "gqa"
    assert at.session_state["settings"]["d_model"] == 4096
    assert dict(at.query_params) == {"preset": "llama-3-8b"}
    assert "caches 2,048 numbers" in at.title[0].value


def test_a_slider_moves_the_figures(opened: Opened) -> None:
    at = opened(d_latent_kv="256")
    assert metrics(at)[0] == "320"
    slider = next(s for s in at.select_slider if s.label.startswith("Rotary"))
    slider.set_value(32).run()
    assert metrics(at)[0] == "288"
    assert at.query_params["d_rope"] == "32"


def test_what_cannot_run_is_one_sentence(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("d_rope (64) has 32 pairs")

    monkeypatch.setattr("ui.engine.model.built", refuse)
    at = opened()
    (error,) = at.error
    assert "d_rope (64) has 32 pairs" in html.unescape(error.value)
    assert at.sidebar.selectbox, "the rest of the page is alive"


def test_what_the_engine_does_not_model_is_said(opened: Opened) -> None:
    at = opened(preset="gpt-oss-20b", variant="gqa")
    assert any("a learned sink logit" in caption.value for caption in at.caption)


def test_every_preset_opens_in_every_variant(opened: Opened) -> None:
    at = opened()
    for key in PRESETS:
        at.selectbox[0].set_value(key).run()
        assert not at.exception, key
        assert not at.error, key
        assert len(at.metric) == 4, key
