"""The torch form, which is the kernel's oracle, against the engine's own traces."""

import pytest
import torch

from mla_engine import IndexedCache, LatentCache, LatentConfig, MultiHeadLatentAttention, RopeConfig
from mla_engine.kernels import Keys, absorbed_attention
from tests.engine.kinds import DSA, PLAIN_DSA, layer_of

SIZES = {"d_model": 24, "n_heads": 3, "d_head": 8, "d_latent_kv": 16}
WITH_ROPE = LatentConfig(**SIZES, d_rope=4, rope=RopeConfig(), softmax_scale=0.7)
TIGHT = {"rtol": 1e-12, "atol": 1e-13}


def hidden(config, tokens, seed=0):
    shape = 2, tokens, config.d_model
    return torch.randn(shape, generator=torch.manual_seed(seed), dtype=torch.float64)


def places_of(chosen, most):
    """Return the places of True in bool [b,t,s] as the kernel reads them, -1 for none."""
    found = chosen.to(torch.uint8).topk(min(most, chosen.shape[-1]), dim=-1)
    return found.indices.masked_fill(found.values == 0, -1).to(torch.int32)


def assert_equals(trace, config, cache, chosen=None):
    keys = Keys(cache.c_KV, cache.k_R, chosen=chosen)
    o, lse = absorbed_attention(trace.q_C_absorbed, trace.q_R, keys, config.scale)
    torch.testing.assert_close(o, trace.o_latent, **TIGHT)
    expected = trace.scores.logsumexp(-1).mT
    torch.testing.assert_close(lse, expected, **TIGHT)


@pytest.mark.parametrize("config", [WITH_ROPE, LatentConfig(**SIZES)], ids=["rope", "none"])
@pytest.mark.parametrize("tokens", [1, 4])
def test_a_step_of_the_layer_from_its_own_cache(config, tokens):
    layer = MultiHeadLatentAttention(config, dtype=torch.float64)
    cache = LatentCache.empty(config, 2, torch.float64, capacity=20)
    _, cache = layer.decode(hidden(config, 9), cache)
    trace, cache = layer.decode(hidden(config, tokens, seed=1), cache)
    assert_equals(trace, config, cache)


@pytest.mark.parametrize("config", [DSA, PLAIN_DSA], ids=["rope", "none"])
@pytest.mark.parametrize("tokens", [1, 4])
def test_the_keys_that_an_indexer_chose(config, tokens):
    layer = layer_of(config)
    cache = IndexedCache.empty(config, 2, torch.float64)
    _, cache = layer.decode(hidden(config, 9), cache)
    trace, cache = layer.decode(hidden(config, tokens, seed=1), cache)
    assert_equals(trace, config, cache, places_of(trace.chosen, config.index_topk))
