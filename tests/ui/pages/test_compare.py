"""The comparison by link: both sides against the engine, and what is marked as different."""

import base64
import json

import numpy as np
import pytest
import torch

from mla_engine import PRESETS, GroupedConfig, MultiHeadLatentAttention, costs
from mla_engine.studies.words import hidden_states, words_of

PAGE = "pages/compare.py"
SENTENCE = "the cat sat on the mat because the cat was tired"


def control(at, name: str):
    widgets = [*at.select_slider, *at.slider, *at.selectbox, *at.button_group]
    return next(w for w in widgets if w.key == f"{name}:en")


def spec(at, chart: int) -> dict:
    return json.loads(at.get("plotly_chart")[chart].proto.spec)


def labels(at, chart: int) -> list[str]:
    texts = [t for trace in spec(at, chart)["data"] for t in trace.get("text") or ()]
    return [text for text in texts if text]


def said(at) -> str:
    return " ".join(m.value for m in at.markdown)


def test_the_page_opens_with_the_sidebars_mla_beside_its_mha(opened):
    at = opened(PAGE)
    config = PRESETS["deepseek-v2-lite"].config
    mla, mha = costs.cache_elements(config), 2 * config.n_heads * config.d_head
    assert f"keeps {mla} numbers per token and layer" in at.title[0].value
    assert f"keeps {mha:,}: {mha / mla:.2f}× apart" in at.title[0].value
    table = at.table[0].value
    assert list(table.loc["KV latent d_c"]) == ["512", "none", "≠"]
    assert list(table.loc["Head width d_h"]) == ["128", "128", ""]
    assert table.loc["Softmax scale"].iloc[2] == "≠"
    assert at.query_params == {}


def test_steps_that_differ_are_marked_in_the_picture(opened):
    at = opened(PAGE, vs_right_as="mla_absorbed")
    left, right = " ".join(labels(at, 0)), " ".join(labels(at, 1))
    assert "≠ k<sup>C</sup>" in left
    assert "≠ o<sub>latent</sub>" in right
    assert "≠ c<sup>KV</sup>" not in left + right
    assert "Only in A:" in said(at)
    assert "with different shapes" not in said(at)
    same = opened(PAGE, vs_right_as="own")
    assert "≠" not in " ".join(labels(same, 0) + labels(same, 1))
    assert "No step differs." in said(same)
    assert not any(same.table[0].value["≠"])


def test_a_preset_beside_another_and_its_cost_by_hand(opened):
    at = opened(PAGE, vs_left="deepseek-v3", vs_right="llama-3-8b", vs_right_as="own",
                vs_view="costs", vs_context="4096", vs_left_as="mla_absorbed")  # fmt: skip
    table = at.table[0].value
    assert list(table.loc["Cache of the context"])[:2] == ["4.50 MiB", "16.0 MiB"]
    assert table.loc["Cache of the context"].iloc[2] == f"≠ {2048 / 576:.2f}×"
    llama = PRESETS["llama-3-8b"].config
    weights = 2 * (2 * 4096**2 + 2 * 4096 * 1024)
    assert table.loc["Weights of the layer"].iloc[1] == f"{weights / 2**20:.1f} MiB"
    scores_and_mix = 2 * 2 * 32 * 4097 * 128
    assert costs.decode(llama, 4096).total_flops == weights + scores_and_mix
    assert (
        table.loc["FLOPs of a decode step"].iloc[1]
        == f"{(weights + scores_and_mix) / 1e6:.0f} MFLOP"
    )
    control(at, "vs_context").set_value(8192).run()
    assert list(at.table[0].value.loc["Cache of the context"])[:2] == ["9.00 MiB", "32.0 MiB"]
    assert at.query_params["vs_context"] == "8192"
    bars = spec(at, 1)["data"]
    moved = sum(decoded(bar["x"]) for bar in bars if bar["type"] == "bar")
    assert moved[1] * 2**20 == pytest.approx(costs.decode(llama, 8192).total_bytes)
    growth = {t["name"]: t for t in spec(at, 0)["data"]}
    assert set(growth) == {"A", "B"}


def decoded(sent: dict) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(sent["bdata"]), sent["dtype"])
    return values.reshape([int(n) for n in sent.get("shape", "-1").split(",")])


@pytest.mark.parametrize("kind", ["attention", "scores"])
def test_maps_show_the_same_tokens_on_the_same_limits(opened, kind):
    at = opened(PAGE, vs_view="maps", vs_map=kind, vs_head="3", preset="small", seed="5",
                **{n: str(v) for n, v in SMALL.items()})  # fmt: skip
    a, b = (spec(at, chart)["data"][0] for chart in (0, 1))
    assert (a["zmin"], a["zmax"]) == (b["zmin"], b["zmax"])
    words = words_of(SENTENCE)
    config = small_config()
    h = torch.from_numpy(hidden_states(words, 5, 64))[None]
    trace = MultiHeadLatentAttention(config, seed=5)(h)
    expected = getattr(trace, kind)[0, 3].numpy()
    seen = np.tril(np.ones_like(expected, dtype=bool))
    assert decoded(a["z"])[seen] == pytest.approx(expected[seen], abs=1e-5)
    apart = np.abs(decoded(a["z"]) - decoded(b["z"]))
    row, column = np.unravel_index(np.nanargmax(apart), apart.shape)
    assert apart[row, column] > 0.1
    assert f"{words[row]}\u2069 looks at \u2068{words[column]}" in said(at)


SMALL = {
    "d_model": 64, "n_heads": 4, "n_kv_heads": 2, "d_head": 16, "d_value": 16,
    "d_latent_kv": 32, "d_latent_q": 48, "d_rope": 8,
}  # fmt: skip


def small_config():
    from ui.engine.model import SMALL_CONFIG

    return SMALL_CONFIG


def test_large_models_run_one_head_and_a_side_with_fewer_shows_its_last(opened):
    at = opened(PAGE, vs_view="maps", vs_left="deepseek-v3", vs_right="gemma-2b",
                vs_right_as="own", vs_head="77")  # fmt: skip
    assert not at.error
    alts = [chart.proto.alt for chart in at.get("plotly_chart")]
    assert "head 77 of A: DeepSeek-V3" in alts[0]
    assert "head 7 of B: Gemma-2B" in alts[1]


def test_a_side_that_cannot_be_built_is_refused_and_the_pickers_stay(opened, monkeypatch):
    def refuse(*_: object) -> None:
        raise ValueError("these sizes cannot be")

    monkeypatch.setattr("ui.engine.model.config", refuse)
    at = opened(PAGE, vs_left="kimi-k2", vs_right="kimi-k2")
    assert not at.error  # neither side has the sidebar's sizes
    at = opened(PAGE, vs_right="kimi-k2")
    assert "cannot be built" in at.title[0].value
    assert "these sizes cannot be" in at.error[0].value
    control(at, "vs_left").set_value("kimi-k2").run()
    assert not at.error
    assert "A: Kimi-K2" in at.title[0].value


def test_maps_beyond_the_memory_budget_are_refused(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.0001")
    at = opened(PAGE, vs_view="maps", seed="4711")
    assert len(at.error) == 1
    assert not at.get("plotly_chart")
    assert control(at, "vs_head").value == 0


def test_an_unknown_model_becomes_the_default(opened):
    broken = opened(PAGE, vs_left="no-such-model")
    assert "no-such-model" in broken.warning[0].value.replace("&#45;", "-")
    assert control(broken, "vs_left").value == "shared"


@pytest.mark.parametrize("view", ["flow", "costs", "maps"])
def test_every_view_in_chinese_with_gaps_named(opened, view):
    at = opened(PAGE, vs_view=view, vs_left="gpt-oss-20b", vs_left_as="own", lang="zh")
    assert not at.error
    assert "GPT-OSS-20B" in at.title[0].value
    assert "GPT-OSS-20B" in said(at)
    assert all(chart.proto.alt for chart in at.get("plotly_chart"))


def test_variants_of_a_preset_keep_its_sizes():
    from ui.pages.compare.view import model

    config = model.built(PRESETS["llama-3-8b"].config, model.sizes_of("llama-3-8b"), "mla")
    assert (config.d_latent_kv, config.d_rope, config.n_heads) == (512, 64, 32)
    grouped = model.built(PRESETS["deepseek-v3"].config, model.sizes_of("deepseek-v3"), "mqa")
    assert isinstance(grouped, GroupedConfig)
    assert (grouped.n_kv_heads, grouped.n_heads, grouped.d_model) == (1, 128, 7168)
