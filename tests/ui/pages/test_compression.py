"""The compression page by link and by hand, its numbers against numpy and the engine."""

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import GroupedConfig, GroupedQueryAttention, RopeConfig, claims, costs
from mla_engine.presets import PRESETS
from mla_engine.studies.words import hidden_states
from ui.pages.compression import run as compression_run
from ui.pages.compression.run import Source
from ui.settings.sizes import SMALL_SIZES

PAGE = "pages/compression.py"
SMALL = {"preset": "small"} | {name: str(size) for name, size in SMALL_SIZES.items()}
V3 = {"preset": "deepseek-v3", "d_model": "7168", "n_heads": "128", "d_latent_q": "1536"}
CONFIG = GroupedConfig(d_model=64, n_heads=4, n_kv_heads=4, d_head=16, rope=RopeConfig())
WORDS = ("the", "cat", "sees", "it")


def control(at: AppTest, name: str, language: str = "en"):
    widgets = [*at.slider, *at.select_slider, *at.button_group, *at.toggle]
    return next(w for w in widgets if w.key == f"{name}:{language}")


def metrics(at: AppTest) -> list[float]:
    return [float(metric.value.split()[0]) for metric in at.metric]


def said(at: AppTest) -> str:
    return " ".join(m.value for m in at.markdown)


def test_full_rank_loses_nothing_and_rank_zero_all(opened):
    at = opened(PAGE, **SMALL, cmp_rank="128")
    assert metrics(at) == [0, 0, 0, 0]
    assert "**128** numbers instead of 128" in said(at)
    control(at, "cmp_rank").set_value(0).run()
    assert metrics(at) == [100, 100, 100, 100]
    assert at.query_params["cmp_rank"] == "0"
    assert "0 numbers in place of 128:" in at.title[0].value


def test_a_slider_shows_the_keys_error_of_numpys_svd(opened):
    at = opened(PAGE, **SMALL, seed="6", cmp_heads="2", cmp_weights="spectrum", cmp_decay="0.5")
    control(at, "cmp_rank").set_value(20).run()
    words = ("the", "cat", "sat", "on", "the", "mat", "because", "the", "cat", "was", "tired")
    h = hidden_states(words, 6, 64).astype(float)
    layer = GroupedQueryAttention(CONFIG, seed=6, heads=(0, 1))
    drawn = np.concatenate([layer.W_K.flatten(0, 1), layer.W_V.flatten(0, 1)]).astype(float)
    left, values, right = np.linalg.svd(drawn, full_matrices=False)
    wanted = np.arange(1, 65.0) ** -0.5
    wanted *= np.linalg.norm(values) / np.linalg.norm(wanted)
    exact = left * wanted @ right
    cut = left[:, :20] * wanted[:20] @ right[:20]
    off = [np.linalg.norm(h @ (exact - cut)[rows].T) / np.linalg.norm(h @ exact[rows].T)
           for rows in (slice(32), slice(32, 64))]  # fmt: skip
    assert metrics(at)[:2] == pytest.approx([100 * n for n in off], abs=0.051)
    assert f"keys are off by {100 * off[0]:.1f}\xa0%" in at.title[0].value


def test_joint_and_separate_at_equal_cache(opened):
    at = opened(PAGE, **SMALL, cmp_rank="64", cmp_error="k")
    source = Source(CONFIG, 0, (0, 1, 2, 3), None)
    assert control(at, "cmp_error").value == "k"
    text = said(at).replace("\xa0", " ")
    assert "is **0.0 %** with one joint latent" in text  # 64 is d_model: nothing is lost
    separate = compression_run.prepared(source).ways["separate"]
    keys, values = separate.ranks(64)
    assert keys + values == 64
    assert f"({keys} numbers for keys, {values} for values" in text
    wrong = separate.weights(64)[0].flatten(0, 1)
    layer = GroupedQueryAttention(CONFIG).W_K.flatten(0, 1)
    words = ("the", "cat", "sat", "on", "the", "mat", "because", "the", "cat", "was", "tired")
    h = torch.tensor(hidden_states(words, 0, 64))
    off = (h @ (wrong - layer).T).norm() / (h @ layer.T).norm()
    assert f"**{100 * off:.1f} %** with two separate ones" in text


def test_v3_compresses_a_few_heads_and_counts_query_memory(opened):
    at = opened(PAGE, **V3, cmp_rank="64")
    assert not at.error
    assert control(at, "cmp_heads").options == ["1", "2", "4", "8"]  # 8 × 256 values are many
    verdict = claims.check("C5", config=PRESETS["deepseek-v3"].config)
    kept = list(at.table[0].value.iloc[:, 0])
    wanted = [f"{verdict.value(name):,}" for name in ("before", "kept", "recomputed")]
    assert [kept[0], kept[2], kept[3]] == wanted
    assert kept[1] == "0"


def test_a_grouped_preset_is_compressed_as_mha(opened):
    at = opened(PAGE, preset="llama-3-8b", variant="gqa", d_model="4096", n_heads="32",
                n_kv_heads="8", cmp_heads="2", cmp_rank="512")  # fmt: skip
    assert metrics(at) == [0, 0, 0, 0]
    assert "1,536 numbers are assumed" in said(at)


def test_chinese_and_values_out_of_range(opened):
    at = opened(PAGE, **SMALL, lang="zh", cmp_rank="9999", cmp_heads="64", cmp_decay="9")
    assert "用 128 个数代替 128 个" in at.title[0].value
    assert control(at, "cmp_decay", "zh").value == 3.0
    assert control(at, "cmp_heads", "zh").value == 4


def test_a_refusal_leaves_the_rest_alive(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.01")
    at = opened(PAGE, **V3, seed="78")
    assert "a run may hold" in at.error[0].value
    assert at.table[0].value.iloc[0, 0] == "24,576"
    assert control(at, "cmp_heads").value == 4


def test_the_cache_is_that_of_mla_with_such_a_latent():
    source = Source(CONFIG, 0, (0, 1, 2, 3), None)
    assert source.full == costs.cache_elements(CONFIG)
    assert Source(CONFIG, 0, (1,), None).full == source.full // 4
    spectra = compression_run.prepared(source).spectra
    assert {name: len(values) for name, values in spectra.items()} == {
        "both": 64, "W_K": 64, "W_V": 64,
    }  # fmt: skip


@pytest.mark.parametrize("way", compression_run.WAYS)
def test_errors_fall_with_the_rank(way):
    source = Source(CONFIG, 1, (0, 1, 2, 3), 1.0)
    u = [compression_run.lost(source, WORDS, way, rank).u for rank in (1, 8, 32, 128)]
    assert u[0] > u[1] > u[2] > u[3]
    assert u[3] < 1e-5
