"""The factors of a cache: their product is its bytes, and each is what a paper says of it."""

from fractions import Fraction
from itertools import pairwise
from math import prod

import pytest

from kvcount import MODELS, Storage, bytes_per_token, read
from kvcount.levers import LEVERS, levers
from mla_engine import PRESETS, GroupedConfig, costs


@pytest.mark.parametrize("kv", ["bf16", "fp8", "mxfp4", "q8_0"])
def test_the_product_is_what_every_published_model_stores(kv):
    storage, found = Storage(kv), {}
    for key, one in MODELS.items():
        model = one.model()
        total = sum((bytes_per_token(layer, storage) for layer in model.layers), Fraction(0))
        found[key] = levers(model, storage)
        assert found[key] is None or found[key].bytes_per_token == total, key
        assert (found[key] is None) == (not total), key
    assert sum(one is not None for one in found.values()) > 100


def test_steps_begin_with_mha_and_each_changes_by_its_own_factor():
    found = levers(MODELS["deepseek-v4-flash"].model(), Storage("fp8"))
    steps = list(found.steps.values())
    assert list(found.steps) == ["mha", *LEVERS]
    assert steps[0] == 43 * 65536 * 2 == 43 * 64 * (512 + 512) * 2
    ratios = [after / before for before, after in pairwise(steps)]
    begin = (found.width / 65536, found.length, Fraction(found.depth, 43), found.bits / 16)
    assert ratios == list(begin)
    assert steps[-1] == steps[0] * prod(ratios) == found.bytes_per_token


@pytest.mark.parametrize(
    ("key", "width", "length", "depth", "layers"),
    [
        ("deepseek-v3", 512 + 64, 1, 61, 61),
        ("deepseek-v3.2-exp", 512 + 64 + 128, 1, 61, 61),
        ("llama-3.1-405b", 2 * 8 * 128, 1, 126, 126),
        ("kimi-k3", 512 + 64, 1, 24, 93),
        ("kimi-linear-48b-a3b", 512 + 64, 1, 7, 27),
        ("gemma-3-27b", 2 * 16 * 128, 1, 10, 62),
    ],
)
def test_published_models(key, width, length, depth, layers):
    found = levers(MODELS[key].model(), Storage())
    assert (found.width, found.length, found.depth, found.layers) == (width, length, depth, layers)
    assert found.bits == 16


def test_flash_of_v4_pools_four_and_a_hundred_and_twenty_eight_tokens():
    found = levers(MODELS["deepseek-v4-flash"].model(), Storage())
    assert found.bytes_per_token == 2 * (21 * Fraction(512 + 128, 4) + 20 * Fraction(512, 128))
    assert found.depth == 21 + 20
    assert found.width == Fraction(21 * (512 + 128) + 20 * 512, 41)


@pytest.mark.parametrize("key", ["deepseek-v3", "llama-3.1-405b", "minicpm3-4b", "glm-5"])
def test_mha_is_that_of_the_engine(key):
    engine = PRESETS[key].config
    found = levers(MODELS[key].model(), Storage())
    assert found.as_mha == costs.mha_cache_elements(engine)


def test_a_config_counts_its_own_heads():
    config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
              "num_attention_heads": 8, "num_key_value_heads": 2}  # fmt: skip
    found = levers(read(config), Storage())
    mha = GroupedConfig(d_model=64, n_heads=8, n_kv_heads=8, d_head=8)
    assert found.as_mha == costs.mha_cache_elements(mha) == 128
    assert found.steps["mha"] == 4 * found.bytes_per_token


def test_a_cache_that_does_not_grow_has_no_factors():
    assert levers(MODELS["mistral-7b-v0.1"].model(), Storage()) is None
