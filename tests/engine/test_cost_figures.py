"""Costs of published models, by hand and as published."""

import dataclasses
import math

import pytest

from mla_engine import costs
from mla_engine.presets import PRESETS


def test_bytes_of_a_decode_step_by_hand():
    config = PRESETS["deepseek-v3"].config
    weights = 2 * costs.parameters(config)
    cost = costs.decode(config, 4096, batch=3)
    assert cost.cache_read_bytes == 3 * 4096 * 576 * 2
    assert cost.cache_written_bytes == 3 * 576 * 2
    assert cost.activation_bytes == 3 * 7168 * 2 * 2
    assert (cost.weight_bytes, cost.up_projected_bytes) == (weights, 0)
    assert cost.total_bytes == weights + 3 * (4097 * 576 * 2 + 7168 * 2 * 2)
    assert cost.flops_per_byte == cost.total_flops / cost.total_bytes
    expanded = costs.decode(config, 4096, "expanded", batch=3)
    assert expanded.up_projected_bytes == 2 * 3 * 4097 * 128 * 256 * 2
    in_full = costs.decode(config, 4096, cache="kv", batch=3)
    assert in_full.cache_read_bytes == 3 * 4096 * 40960 * 2
    assert in_full.up_projected_bytes == 0


def test_bytes_of_prefill_by_hand():
    config = PRESETS["deepseek-v2-lite"].config
    cost = costs.prefill(config, 100, dtype_bytes=4)
    assert (cost.cache_read_bytes, cost.cache_written_bytes) == (0, 100 * 576 * 4)
    assert cost.activation_bytes == 2 * 100 * 2048 * 4
    row = costs.prefill(config, 100, queries=slice(0, 10), latents=True, heads=[3])
    assert (row.cache_read_bytes, row.cache_written_bytes) == (100 * 576 * 2, 0)
    assert row.activation_bytes == 2 * 10 * 2048 * 2
    # W_UQ, W_QR, W_UK, W_UV and W_O of one head: 192 x 2048, twice 128 x 512, 128 x 2048.
    assert row.weight_bytes == 2 * (192 * 2048 + 256 * 512 + 128 * 2048)
    assert costs.prefill(config, 100).cache_written_bytes == 100 * 576 * 2


def test_published_figures():
    v2, v3 = PRESETS["deepseek-v2"].config, PRESETS["deepseek-v3"].config
    assert costs.cache_elements(v2) == 4.5 * 128 == 576
    assert costs.equivalent_kv_heads(v2) == 2.25
    assert round(costs.cache_elements(v3, "kv") / costs.cache_elements(v3), 1) == 71.1
    assert round(costs.mha_cache_elements(v3) / costs.cache_elements(v3), 1) == 56.9
    assert costs.mha_cache_elements(v3) == 2 * 128 * 128 == 32_768
    glm = PRESETS["glm-5"].config  # keys of 192 and values of 256 numbers
    assert costs.mha_cache_elements(glm) == 64 * (192 + 256)
    assert costs.equivalent_kv_heads(glm) == (576 + 128) / (192 + 256), "with its index key"
    assert 60 * costs.cache_elements(v2) == 34_560
    assert 27 * costs.cache_elements(PRESETS["deepseek-v2-lite"].config) == 15_552
    assert 61 * costs.cache_bytes_per_token(v3, 2) == 70_272
    assert costs.cache_bytes_per_token(v3, 0.5) == 288


@pytest.mark.parametrize(
    ("key", "queries"), [("deepseek-v3", 171), ("minicpm3-4b", 85), ("glm-5", 398)]
)
def test_crossover_between_the_forms(key, queries):
    config = PRESETS[key].config
    assert round(costs.crossover_queries(config)) == queries
    context = 2048
    limit = costs.crossover_queries(config, context)
    assert limit < costs.crossover_queries(config)

    def flops(form, rows):
        window = slice(context - rows, None)
        return costs.prefill(config, context, form, queries=window, latents=True).total_flops

    below, above = math.floor(limit), math.floor(limit) + 1
    assert flops("absorbed", below) < flops("expanded", below)
    assert flops("absorbed", above) > flops("expanded", above)


def test_no_crossover_where_the_latent_is_narrow():
    narrow = dataclasses.replace(PRESETS["deepseek-v3"].config, d_latent_kv=128)
    assert costs.crossover_queries(narrow) == math.inf


def test_intensity_of_absorbed_decode_grows_with_the_heads():
    config = PRESETS["deepseek-v3"].config
    cost = costs.decode(config, 100_000)
    # 2 h (2 c + r) FLOPs and 2 (c + r) bytes per cached token in 16 bits.
    per_token = cost.attention_flops / 100_001, cost.cache_read_bytes / 100_000
    assert per_token == (2 * 128 * 1088, 2 * 576)
    assert round(cost.attention_flops / cost.cache_read_bytes) == 242
    expanded = costs.decode(config, 100_000, cache="kv")
    assert expanded.attention_flops / 100_001 == 2 * 128 * 320
    grouped = costs.decode(PRESETS["llama-3-8b"].config, 10)
    assert grouped.attention_flops == 2 * 32 * 11 * (128 + 128)


def test_preset_counts_equal_the_reported_ones():
    # DeepSeek-V3's kv_b_proj has 16.8 M parameters, W_UQ and W_UK together 33.6 M.
    sizes = costs.weight_elements(PRESETS["deepseek-v3"].config)
    assert sizes["W_UK"] + sizes["W_UV"] == 512 * 32_768
    assert sizes["W_UQ"] + sizes["W_UK"] == 33_554_432
