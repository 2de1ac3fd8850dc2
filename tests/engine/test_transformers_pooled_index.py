"""DSA over pooled index keys against Glm5NextTextAttention of transformers, with our weights.

Their index scores are float32 in every dtype, and no order is promised among equal ones: every run
here is checked to leave a gap between the last block that is chosen and the first that is not.
"""

from dataclasses import replace

import pytest
import torch
from transformers import DynamicCache, Glm5NextTextConfig
from transformers.models.glm5_next import modeling_glm5_next as glm

from mla_engine import PooledIndexCache, PooledIndexConfig
from tests.engine.families import config_of, gap, loaded, state_of
from tests.engine.kinds import layer_of
from tests.engine.samples import hidden, relative

pytestmark = pytest.mark.usefixtures("unmeasured")
SIZES = {"d_model": 48, "n_heads": 4, "d_head": 12, "d_value": 10, "latent_norm": True}
SIZES |= {"d_latent_kv": 16, "d_latent_q": 24, "n_index_heads": 5, "d_index": 12, "norm_eps": 1e-5}
CONFIGS = {
    "blocks of 4": PooledIndexConfig(**SIZES, index_topk=8, pooling=4),
    "blocks of 3, biases": PooledIndexConfig(**SIZES, index_topk=3, pooling=3, bias=True),
    "blocks of 1": PooledIndexConfig(**SIZES, index_topk=5, pooling=1),
    "blocks longer than the text": PooledIndexConfig(**SIZES, index_topk=32, pooling=32),
}
TOKENS = 22
configs = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
cut = pytest.mark.parametrize("cuts", [(1,) * TOKENS, (4, 1, 17), (9, 13), (3, 1, 1, 17)], ids=str)


def their_config(c, attention="eager", **more):
    own = {"index_kpool": c.pooling, "rms_norm_eps": c.norm_eps, "qk_rope_head_dim": 0}
    own |= {"layer_types": ["indexed_attention"] * 2}
    return config_of(Glm5NextTextConfig, c, attention, **own, **more)


def their_module(layer, attention="eager", **more):
    number, state = int(layer.config.index_shared), state_of(layer)
    if layer.W_IZ is not None:
        state |= {"indexer.index_kpool_compress_gate": layer.W_IZ[0]}
        state |= {"indexer.index_kpool_compress_ape": layer.b_IZ[0]}
    config = their_config(layer.config, attention, **more)
    return loaded(glm.Glm5NextTextAttention(config, layer_idx=number), state, layer.dtype)


def run_theirs(module, h, cache=None, **more):
    """Their (u, attention, choice): only padding is told, causality they know."""
    seen = torch.ones(h.shape[:2], dtype=torch.bool)
    return module(hidden_states=h, attention_mask=seen, past_key_values=cache, **more)


def has_gap(trace, least=1e-3):
    """Tell whether no index score that was not chosen comes near one that was."""
    pooling = trace.members.shape[1]
    seen = trace.mask[:, pooling - 1 :: pooling].expand_as(trace.chosen_E)
    if (trace.chosen_E == seen).all():
        return pooling > TOKENS  # a run that leaves something out
    return gap(trace.index_E, trace.chosen_E, seen) > least


def seeded(config, dtype):
    """Layer and hidden states of the first seed whose choices are clear."""
    for seed in range(300):
        layer, h = layer_of(config, seed, dtype), hidden(2, TOKENS, 48, seed, dtype)
        if has_gap(layer(h)):
            return layer, h
    raise AssertionError("no seed has clear choices")


@configs
@torch.no_grad()
def test_equals_the_module(config):
    layer, h = seeded(config, torch.float32)
    module = their_module(layer)
    u, attention, _ = run_theirs(module, h)
    for trace in (layer(h), layer.forward_absorbed(h)):
        assert relative(trace.u, u) < 1e-5
        assert relative(trace.attention, attention) < 1e-5
        assert torch.equal(trace.attention > 0, attention > 0)


@configs
@cut
@torch.no_grad()
def test_caches_and_decodes_as_the_module_does(config, cuts):
    """They keep every token's index key and pool them again each step, we pool them once."""
    layer, h = seeded(config, torch.float32)
    module, cache = their_module(layer), DynamicCache(config=their_config(config))
    held = PooledIndexCache.empty(config, batch=2)
    for tokens in h.split(cuts, 1):
        u = run_theirs(module, tokens, cache)[0]
        trace, held = layer.decode(tokens, held)
        assert relative(trace.u, u) < 1e-5
    theirs = cache.layers[0]
    assert relative(held.c_KV, theirs.keys[:, 0]) < 1e-6
    pool_keys, members, _ = module.indexer.get_pooled_states(theirs.indexer_keys)
    assert held.k_E.shape[1] == TOKENS // config.pooling
    if held.k_E.numel():
        assert relative(held.k_E, pool_keys) < 1e-6
        assert torch.equal(trace.members, members[0])


@torch.no_grad()
def test_a_layer_that_shares_a_choice_equals_the_module():
    config = CONFIGS["blocks of 4"]
    layer, h = seeded(config, torch.float32)
    shares = {"indexer_types": ["full", "shared"]}
    sharing = layer_of(replace(config, index_shared=True), 77, torch.float32)
    second = their_module(sharing, **shares)
    assert second.indexer is None
    *_, picked = run_theirs(their_module(layer, **shares), h)
    u, attention, _ = run_theirs(second, h, prev_topk_indices=picked)
    chosen = layer(h).chosen
    for form in (sharing.forward, sharing.forward_absorbed):
        trace = form(h, chosen=chosen)
        assert relative(trace.u, u) < 1e-5
        assert relative(trace.attention, attention) < 1e-5
