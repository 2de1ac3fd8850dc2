"""Published wrong formulas: each gives the number that its source printed, and the right one."""

from dataclasses import replace
from fractions import Fraction

import pytest

from kvcount import MODELS, Storage, bytes_per_token
from kvcount.mistakes import PRINTED, Sizes, mistakes

FOUND = mistakes()
GIB = 2**30
PER_TOKEN = {  # wrong and right bytes of a token, written out
    "mla_as_mha": (61 * 2 * 128 * 56 * 2, 61 * (576 + 128) * 2),
    "latent_only": (61 * 512 * 2, 61 * 576 * 2),
    "latent_twice": (61 * 1024 * 2, 61 * 576 * 2),
    "rope_each_head": (61 * 8704 * 2, 61 * 576 * 2),  # 8,704 a layer in the source
    "no_index": (61 * 656, 61 * (656 + 132)),
    "index_every_layer": (78 * 704 * 2, (78 * 576 + 21 * 128) * 2),
    "latent_split": (27 * 144 * 2, 27 * 576 * 2),
    "latent_all_layers": (107_136, 27_648),  # printed, and 24 of 93 layers
    "width_over_heads": (36 * 2 * 8 * 80 * 2, 36 * 2 * 8 * 128 * 2),
    "all_query_heads": (80 * 2 * 64 * 128 * 2, 80 * 2 * 8 * 128 * 2),
    "model_width": (32 * 2 * 4096 * 2, 32 * 2 * 8 * 128 * 2),
    "heads_times_width": (8 * 524_288, 524_288),  # "exactly 8 times"
    "no_factor_two": (40 * 5120 * 2, 2 * 40 * 5120 * 2),
    "one_of_the_heads": (32 * 512, 512 * 1024),  # 512 bytes a layer; 512 KiB
    "weights_type_in_bits": (1_605_632, 28 * 2 * 4 * 128 * 2),  # printed
    "delta_counted": (81_920, 20_480),  # printed
    "mamba_counted": (88 * 2 * 2 * 128 * 2, 8 * 2 * 2 * 128 * 2),
    "heads_of_windows": (10 * 2 * 16 * 512 * 2, 10 * 2 * 4 * 512 * 2),
    "shared_counted": (7 * 2 * 2 * 256 * 2, 4 * 2 * 2 * 256 * 2),
    "pooled_as_gqa": (88_064, 2 * (21 * 640 // 4 + 20 * 512 // 128)),  # printed
}
AT_A_CONTEXT = {  # GiB that the source printed, what it calls right, its digits after the point
    "one_kv_head": (2.08, 10.72, 2),
    "windows_as_full": (6.00, 3.00, 2),
    "most_windows_as_full": (832 / 1024, 139 / 1024, 4),
    "windows_and_width": (81.38, 10.41, 2),
}


@pytest.mark.parametrize("key", PER_TOKEN)
def test_bytes_of_a_token(key):
    assert FOUND[key].context is None
    assert (FOUND[key].printed, FOUND[key].right) == PER_TOKEN[key]


@pytest.mark.parametrize("key", AT_A_CONTEXT)
def test_printed_and_right_at_the_source_s_context(key):
    printed, right, decimals = AT_A_CONTEXT[key]
    half = 0.51 * 10**-decimals
    assert float(FOUND[key].printed) / GIB == pytest.approx(printed, abs=half)
    assert float(FOUND[key].right) / GIB == pytest.approx(right, abs=half)


@pytest.mark.parametrize(
    ("key", "model", "context", "printed", "right"),
    [
        ("one_kv_head", "kimi-k2.5", 262_144, 6.67, 17.16),
        ("delta_and_width", "qwen3-0.6b", 40_960, 2.19, 4.38),
        ("width_over_heads", "qwen3-32b", GIB, 163_840, 262_144),
    ],
)
def test_what_the_sources_print_of_other_models(key, model, context, printed, right):
    found = replace(FOUND[key], model=model, context=context)
    assert float(found.printed) / GIB == pytest.approx(printed, abs=0.0051)
    assert float(found.right) / GIB == pytest.approx(right, abs=0.0051)


@pytest.mark.parametrize(("model", "off"), [("mistral-small-3.1-24b", 1.25), ("gpt-oss-20b", 0.70)])
def test_an_even_share_of_the_width_is_wrong_either_way(model, off):
    sizes = replace(FOUND["width_over_heads"], model=model).sizes
    assert sizes.even / sizes.head == pytest.approx(off, abs=0.005)


def test_what_the_sources_say_of_how_far_they_were_off():
    mha, shared = FOUND["mla_as_mha"], FOUND["shared_counted"]
    assert round(float(mha.printed / (61 * 576 * 2))) == 25  # without the index keys
    assert 1 - 1 / shared.ratio == pytest.approx(0.43, abs=0.005)
    # Gemma 4 12B: 8 full layers, 8 heads of the windows, 512 wide, "128 KB" of a token
    assert Sizes(layers=48).pair(8, 8, 512) == 128 * 1024


def test_every_formula_has_been_checked():
    others = {"by_parameters", "delta_and_width", "windows_left_out", "pooled_each_head"}
    others |= {"gib_as_gb"}
    assert set(FOUND) == set(PRINTED) == set(PER_TOKEN) | set(AT_A_CONTEXT) | others
    assert len(FOUND) >= 20


def test_one_token_of_gpt_oss_without_its_windows():
    found = FOUND["windows_left_out"]
    assert (found.context, found.printed, found.right) == (1, 36_864, 73_728)


def test_a_state_beside_the_cache_that_the_source_calls_right():
    found = FOUND["delta_and_width"]
    assert found.printed / GIB == Fraction("53.25")
    layers = MODELS[found.model].model().layers
    grown = found.context * sum(bytes_per_token(one, Storage()) for one in layers)
    assert grown == 16 * GIB < found.right < 16.2 * GIB


def test_bytes_by_parameters():
    found = FOUND["by_parameters"]
    assert found.printed == 96 * 10**7
    assert found.right == 4.5 * GIB  # 36 layers, 8 KV heads, 32,768 tokens, as the source has it


def test_traffic_of_v4_pro_by_hand():
    found = FOUND["pooled_each_head"]
    n, window = found.context, 128
    entries = 30 * (window + 1024) + 31 * (window + n // 128)
    assert found.printed == 128 * entries * 512 * 2
    assert found.right == (entries * 512 + 30 * n // 4 * 128) * 2


def test_gib_that_are_called_gb():
    found = FOUND["gib_as_gb"]
    assert found.right == 70_272 * 262_144
    assert round(float(found.printed) / 1e9, 2) == 17.16  # printed


def test_logged_totals_of_v3_2_give_the_rows_with_and_without_index_keys():
    tokens, found = 1_462_784 + 64, FOUND["no_index"]  # and a page for padding
    assert round(float(found.printed * tokens) / GIB, 2) == 54.52  # printed
    assert round(float(found.right * tokens) / GIB, 2) == 65.49  # measured


def test_index_keys_of_glm_5_2_at_128_ki():
    found = FOUND["index_every_layer"]
    latents = 78 * 576 * 2
    assert (found.right - latents) * 2**17 == 672 * 2**20  # measured


@pytest.mark.parametrize("key", FOUND)
def test_each_is_wrong_and_says_why_in_two_languages(key):
    found = FOUND[key]
    assert abs(found.ratio - 1) > 0.05
    assert found.source
    assert found.formula
    assert set(found.short) == set(found.forgets) == {"en", "zh"}
    assert found.model in MODELS
