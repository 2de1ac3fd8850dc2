"""Decoding and caches refuse what does not fit, with the names and the values."""

import pytest
import torch

from mla_engine import GroupedConfig, KVCache, LatentCache, LatentConfig
from tests.engine.samples import refused
from tests.engine.test_refusals import GROUPED, LATENT, H, gqa, mla

LATENT_CONFIG, GROUPED_CONFIG = LatentConfig(**LATENT), GroupedConfig(**GROUPED)
STEPS = {
    "absorbed with keys and values": (
        lambda: mla().decode(H, KVCache.empty(LATENT_CONFIG, batch=2), form="absorbed"),
        ("absorbed", "LatentCache", "KVCache"),
    ),
    "another batch": (
        lambda: mla().decode(H, LatentCache.empty(LATENT_CONFIG, batch=3)),
        ("batch", 3, 2),
    ),
    "another batch, grouped": (
        lambda: gqa().decode(H, KVCache.empty(GROUPED_CONFIG, batch=1)),
        ("batch", 1, 2),
    ),
    "another dtype": (
        lambda: mla().decode(H, LatentCache.empty(LATENT_CONFIG, batch=2, dtype=torch.float64)),
        ("float64", "float32"),
    ),
    "MLA's keys for grouped heads": (
        lambda: gqa().decode(H, KVCache.empty(LATENT_CONFIG, batch=2)),
        ("cache", "LatentConfig", "layer", "GroupedConfig"),
    ),
    "keys of more heads than the layer has": (
        lambda: mla(heads=[2, 0]).decode(H, KVCache.empty(LATENT_CONFIG, batch=2)),
        ("n_kv_heads", 4, 2),
    ),
    "no cache": (lambda: mla().decode(H, None), ("cache", None, "LatentCache")),
    "no capacity": (lambda: KVCache.empty(GROUPED_CONFIG, capacity=0), ("capacity", 0)),
    "no batch": (lambda: KVCache.empty(GROUPED_CONFIG, batch=0), ("batch", 0)),
    "batch as a word": (lambda: KVCache.empty(GROUPED_CONFIG, batch="2"), ("batch", "2")),
    "whole numbers": (
        lambda: KVCache.empty(GROUPED_CONFIG, dtype=torch.int8),
        ("dtype", "int8", "float32"),
    ),
    "positions of other tokens": (
        lambda: mla().decode(H, LatentCache.empty(LATENT_CONFIG, batch=2), positions=[0, 1]),
        ("positions", 2, 5),
    ),
}


@pytest.mark.parametrize(("step", "words"), STEPS.values(), ids=STEPS)
def test_decoding(step, words):
    with refused(*words):
        step()


def test_a_refused_step_leaves_the_cache_as_it_was():
    layer = mla()
    _, cache = layer.decode(H, LatentCache.empty(LATENT_CONFIG, batch=2, capacity=8))
    kept = cache.c_KV.clone()
    with refused("capacity", 8, 5):
        layer.decode(torch.ones(2, 5, 8), cache)
    assert cache.length == 5
    assert torch.equal(cache.c_KV, kept)
    trace, longer = layer.decode(torch.ones(2, 3, 8), cache)
    assert (longer.length, trace.attention.shape[-1]) == (8, 8)
