"""The absorption page by link and by hand, its numbers against other ways to count them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, MultiHeadLatentAttention, costs
from mla_engine.studies.words import hidden_states
from ui.engine.model import SMALL_CONFIG
from ui.pages.absorption import run as absorption_run
from ui.pages.absorption import view as absorption
from ui.settings.sizes import SMALL_SIZES
from ui.words import numbers

PAGE = "pages/absorption.py"
SMALL = {"preset": "small"} | {name: str(size) for name, size in SMALL_SIZES.items()}
V3 = {"preset": "deepseek-v3", "d_model": "7168", "n_heads": "128", "d_latent_q": "1536"}
WORDS = ("the", "cat", "sees", "it")


def control(at: AppTest, name: str, language: str = "en"):
    widgets = [*at.select_slider, *at.number_input, *at.button_group]
    return next(w for w in widgets if w.key == f"{name}:{language}")


def said(at: AppTest) -> str:
    return " ".join(m.value for m in at.markdown).replace("\xa0", " ")


def title(at: AppTest) -> str:
    return at.title[0].value.replace("\xa0", " ")


def test_a_link_at_v3s_sizes_counts_as_the_papers_do(opened):
    at = opened(PAGE, **V3)
    entries = at.table[0].value
    assert list(entries.iloc[0]) == ["100.7 M", "33.6 M", "3.00×"]
    assert list(entries.iloc[1]) == ["469.8 M", "125.8 M", "3.73×"]
    left = 128 * (128 * 512 + 512 * 4097)
    right = 128 * (128 * 512 * 4097 + 128 * 4097)
    assert f"{left / 1e6:.0f} M multiply-adds absorbed" in title(at)
    assert f"{right / 1e9:.1f} G expanded" in title(at)
    assert "128 of its 512 singular values" in said(at)
    assert not at.error


def test_moving_the_bracket_and_the_sliders(opened):
    at = opened(PAGE, **SMALL)
    assert "**absorbed** order" in said(at)
    control(at, "ab_queries").set_value(512).run()
    control(at, "ab_context").set_value(32).run()
    assert at.query_params["ab_queries"] == "512"
    step = costs.decode(SMALL_CONFIG, 32, "expanded", new_tokens=512).step_flops
    other = costs.decode(SMALL_CONFIG, 32, "absorbed", new_tokens=512).step_flops
    expanded = (step["k_C"] + step["scores_C"]) / 2
    absorbed = (other["q_C_absorbed"] + other["scores_C"]) / 2
    assert expanded < absorbed
    assert f"takes **{numbers.times(absorbed / expanded)}** less work" in said(at)
    assert "**expanded** order" in said(at)
    control(at, "ab_order").set_value("expanded").run()
    assert at.query_params["ab_order"] == "expanded"
    formula = [latex.value for latex in at.latex]
    assert any(r"q^C\,\left(W^{UK}" in value for value in formula)


def test_outputs_use_the_other_factors(opened):
    narrow = SMALL | {"d_value": "8"}
    at = opened(PAGE, **narrow, ab_side="output", ab_matrix="W_VO", ab_head="3")
    step = costs.decode(replace(SMALL_CONFIG, d_value=8), 4096, "absorbed").step_flops
    adds = (step["o_latent"] + step["o"]) / 2
    assert f"{absorption.amount(adds)} multiply-adds".replace("\xa0", " ") in title(at)
    assert "of head 3 is 64 × 32, and 8 of its 32" in said(at)


def test_chinese_and_values_out_of_range(opened):
    at = opened(PAGE, **SMALL, lang="zh", ab_queries="5", ab_head="99", ab_gain="9")
    assert "同一个乘积，两种顺序" in title(at)
    assert control(at, "ab_queries", "zh").value == 4
    assert control(at, "ab_head", "zh").value == 3
    assert control(at, "ab_gain", "zh").value == 4.0


def test_a_grouped_preset_shows_the_mla_of_its_sizes(opened):
    sizes = {"d_model": "4096", "n_heads": "32", "n_kv_heads": "8", "variant": "gqa"}
    at = opened(PAGE, preset="llama-3-8b", **sizes)
    assert "128 of its 512 singular values" in said(at)
    assert not at.error


def test_a_refusal_leaves_the_controls_alive(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.01")
    absorption_run.merged.clear()
    absorption_run.rounding.clear()
    at = opened(PAGE, **V3, seed="77")
    assert "a run may hold" in at.error[0].value
    assert "multiply-adds absorbed" in title(at)
    assert control(at, "ab_context").value == 4096


def layer(dtype: torch.dtype = torch.float64) -> MultiHeadLatentAttention:
    return MultiHeadLatentAttention(SMALL_CONFIG, seed=5, dtype=dtype)


def test_merged_matrices_are_those_of_their_head():
    found = absorption_run.merged(SMALL_CONFIG, 5, 2)
    wanted = layer().W_UQ[2].T @ layer().W_UK[2]
    np.testing.assert_allclose(found["W_QK"].matrix, wanted, atol=1e-6)
    values = np.linalg.svd(wanted.numpy(), compute_uv=False)
    np.testing.assert_allclose(found["W_QK"].singular_values[:16], values[:16], rtol=1e-5)
    assert len(found["W_QK"].singular_values) == 32
    assert found["W_QK"].singular_values[16] < 1e-6 * values[0]
    assert (found["W_QK"].rank, found["W_VO"].rank) == (16, 16)


def test_rounding_is_shown_in_three_formats():
    found = absorption_run.rounding(SMALL_CONFIG, 5, (0, 1, 2, 3), WORDS)
    assert list(found) == ["float64", "float32", "bfloat16"]
    h = torch.tensor(hidden_states(WORDS, 5, 64))[None]
    u = layer(torch.float32).forward_absorbed(h).u[0]
    np.testing.assert_array_equal(found["float32"].absorbed, u)
    half = found["bfloat16"]
    np.testing.assert_allclose(half.difference, half.absorbed - half.expanded, atol=1e-6)
    assert found["float64"].between < 1e-13 < found["float32"].between < half.between


def test_a_longer_h_has_the_same_key_and_a_longer_merged_one():
    once, four = (
        absorption_run.too_much(SMALL_CONFIG, 5, (0, 1), WORDS, gain) for gain in (1.0, 4.0)
    )
    np.testing.assert_allclose(four.key_lengths[-1], once.key_lengths[-1], rtol=1e-5)
    np.testing.assert_allclose(four.merged_lengths[-1], 4 * once.merged_lengths[-1], rtol=1e-5)
    np.testing.assert_array_equal(four.merged_lengths[:-1], once.merged_lengths[:-1])
    assert once.errors["keys_plain"] < 1e-5 < once.errors["keys"] < four.errors["keys"]
    summed = np.broadcast_to(once.scores_one, once.scores.shape)
    np.testing.assert_allclose(once.scores.sum(0), once.scores_one, atol=1e-5)
    off = np.linalg.norm(summed - once.scores) / np.linalg.norm(once.scores)
    assert once.scores_error == pytest.approx(off, rel=1e-5)


@pytest.mark.parametrize("key", [k for k, p in PRESETS.items() if p.kind == "MLA"])
def test_entries_of_every_model(key):
    config = PRESETS[key].config
    sizes = costs.weight_elements(config)
    merged, factors = absorption_run.entries(config)["W_QK"]
    assert factors == sizes["W_UQ"] + sizes["W_UK"]
    source = config.d_latent_q or config.d_model
    assert factors < merged == config.n_heads * source * config.d_latent_kv
    merged, factors = absorption_run.entries(config)["W_VO"]
    assert factors == sizes["W_UV"] + sizes["W_O"]
    assert factors < merged == config.n_heads * config.d_model * config.d_latent_kv
