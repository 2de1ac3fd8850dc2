"""The cache page by link and by hand: its numbers against the engine's closed forms."""

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, KVCache, costs
from mla_engine.presets import NOT_MODELLED
from ui.pages.kv_cache import view as kv
from ui.words import numbers, text

PAGE = "pages/kv_cache.py"
GIB = 2**30


def control(at: AppTest, name: str, language: str = "en"):
    widgets = [*at.select_slider, *at.slider, *at.selectbox, *at.toggle, *at.button_group]
    return next(w for w in widgets if w.key == f"{name}:{language}")


def title(at: AppTest) -> str:
    return at.title[0].value.replace("\xa0", " ")


def test_the_page_opens_on_deepseek_v3_and_says_what_it_keeps(opened):
    at = opened(PAGE)
    config = PRESETS["deepseek-v3"].config
    kept = costs.cache_elements(config) * 61 * 2 * 131_072
    mha = 2 * 128 * 128 * 61 * 2 * 131_072
    assert f"keeps {kept / GIB:.2f} GiB for 131,072 tokens" in title(at)
    assert f"would keep {mha / GIB:.0f} GiB, 56.9× as much" in title(at)
    assert at.query_params == {}


def test_a_link_brings_every_choice(opened):
    at = opened(
        PAGE,
        kv_left="deepseek-v2", kv_right="llama-3-8b", kv_groups="4", kv_layers="3", kv_batch="8",
        kv_type="fp32", kv_context="4096", kv_unit="GB",
    )  # fmt: skip
    table = at.table[0].value
    assert table.loc["GQA, g = 4"].iloc[0] == "2 × 4 × 128 = 1,024"
    kept = 576 * 4 * 4096 * 3 * 8
    assert table.loc["MLA ★"].iloc[1].replace("\xa0", " ") == numbers.size(kept, binary=False)
    assert f"keeps {kept / 1e6:.0f} MB" in title(at)
    # GQA set to 4 KV heads is not what Llama-3-8B has: its own 8 stand beside.
    assert list(at.table[1].value.index) == [
        "MHA", "GQA, g = 4", "MQA", "MLA, assumed", "GQA, g = 8 ★",
    ]  # fmt: skip


def test_values_wider_than_keys_are_counted_as_wide_as_they_are(opened):
    at = opened(PAGE, kv_left="glm-4.7-flash", kv_groups="4")
    ways = at.table[0].value
    assert ways.loc["MHA"].iloc[0] == "20 × (192 + 256) = 8,960"
    assert ways.loc["GQA, g = 4"].iloc[0] == "4 × (192 + 256) = 1,792"
    assert ways.loc["MLA ★"].iloc[2] == "15.6×"
    assert "15.6× as much" in title(at)


def test_moving_a_slider_changes_numbers_and_link(opened):
    at = opened(PAGE)
    control(at, "kv_context").set_value(2**20).run()
    assert at.query_params["kv_context"] == "1048576"
    kept = 576 * 61 * 2 * 2**20
    assert f"would keep {kept / GIB:.1f} GiB for 1,048,576 tokens" in title(at)
    assert any("163,840 tokens at most" in m.value for m in at.markdown)


def test_choosing_a_model_changes_its_side_alone(opened):
    at = opened(PAGE)
    right = at.table[1].value
    control(at, "kv_left").set_value("minicpm3-4b").run()
    assert at.table[0].value.loc["MLA ★"].iloc[0] == "256 + 32 = 288"
    assert at.table[1].value.equals(right)


def test_chinese_keeps_the_numbers(opened):
    at = opened(PAGE, lang="zh", kv_layers="1", kv_log="0")
    kept = 576 * 2 * 131_072
    assert f"{kept / 2**20:.0f} MiB" in title(at)
    assert control(at, "kv_log", "zh").value is False
    assert "词元" in at.table[0].value.columns[0]


def test_every_gap_of_a_shown_model_is_said(opened):
    at = opened(PAGE, kv_left="gpt-oss-20b", kv_right="longcat-flash-chat")
    said = " ".join(m.value for m in at.markdown)
    assert "sink logit" in said
    assert "window of 128 tokens" in said
    assert "28 layers and 56 caches" in said
    assert "576 numbers × 56 caches × 131,072 tokens × batch 1 × 2 bytes" in said
    keys = {f"kv_cache.gap_{gap.replace(' ', '_')}" for gap in NOT_MODELLED}
    assert keys == {key for key in text.catalogue() if key.startswith("kv_cache.gap_")}


def test_values_out_of_range_become_the_nearest(opened):
    at = opened(PAGE, kv_batch="3", kv_context="5", kv_groups="900", kv_left="gpt-9")
    assert (control(at, "kv_batch").value, control(at, "kv_context").value) == (2, 1024)
    assert control(at, "kv_groups").value == 128
    assert "gpt-9" in at.warning[0].value.replace("&#45;", "-")


@pytest.mark.parametrize("key", PRESETS)
@pytest.mark.parametrize("groups", [1, 5, 128])
def test_ways_of_every_model(key, groups):
    scene = kv.Scene(key, groups, 0, 1, "bf16")
    ways, config = scene.ways, PRESETS[key].config
    each = config.d_head + config.d_value
    assert costs.cache_elements(ways["mha"]) == config.n_heads * each
    assert costs.cache_elements(ways["mqa"]) == each
    assert costs.cache_elements(ways[scene.own]) == costs.cache_elements(config)
    assert config.n_heads % ways["gqa"].n_kv_heads == 0
    assert ways["gqa"].n_kv_heads <= groups
    assert len(ways) <= 6
    if PRESETS[key].kind != "MLA":
        assert costs.equivalent_kv_heads(ways["mla"]) == 2.25


@pytest.mark.parametrize("key", ["deepseek-v3", "minicpm3-4b", "llama-3-8b", "falcon-7b"])
def test_measured_points_lie_on_the_curves(key):
    scene = kv.Scene(key, 8, 0, 4, "fp32")
    curves = scene.curves(kv.MEASURED)
    assert {n: list(held) for n, (_, held) in scene.points().items()} == {
        n: list(curve) for n, curve in curves.items()
    }


def test_a_measured_cache_really_holds_its_tokens():
    config = kv.Scene("llama-3-8b", 8, 1, 1, "bf16").ways["gqa"]
    cache = kv.filled(config, torch.bfloat16, 5)
    assert isinstance(cache, KVCache)
    assert cache.length == 5
    assert cache.k.contiguous().untyped_storage().nbytes() == 5 * 8 * 128 * 2
    assert cache.k.untyped_storage().nbytes() >= 5 * 8 * 128 * 2


@pytest.mark.parametrize("dtype", ["fp8", "int4"])
def test_types_without_a_cache_have_no_points(opened, dtype):
    at = opened(PAGE, kv_type=dtype)
    assert any("There are no dots" in c.value for c in at.caption)
    assert kv.Scene("deepseek-v3", 8, 0, 1, dtype).points() == {}
    assert (
        kv.Scene("deepseek-v3", 8, 1, 1, dtype).held_bytes("mla", 2) == 2 * 576 * kv.WIDTHS[dtype]
    )


@pytest.mark.parametrize(
    ("link", "title", "sentence"),
    [
        (
            {"kv_layers": "126"},
            "DeepSeek-V3 / R1 (671B) keeps 8.58 GiB",
            "It has 61 caches, not 126",
        ),
        ({"kv_left": "gemma-3-4b"}, "Gemma-3-4B keeps at most", "every layer is counted as global"),
        ({"kv_left": "falcon-7b"}, "Falcon-7B would keep", "published for 2,048 tokens at most"),
        (
            {"kv_groups": "40", "kv_right": "minicpm3-4b"},
            "keeps 8.58 GiB",
            "cannot share 40 KV heads evenly: 32",
        ),
    ],
)
def test_the_title_claims_no_more_than_the_model_has(opened, link, title, sentence):
    at = opened("pages/kv_cache.py", **link)
    assert title in at.title[0].value.replace("\xa0", " ")
    assert any(sentence in m.value for m in at.markdown)
