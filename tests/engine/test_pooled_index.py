"""DSA over pooled index keys against DSA and dense MLA, and choices by hand."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from mla_engine import (
    PRESETS,
    IndexedConfig,
    IndexedLatentAttention,
    MultiHeadLatentAttention,
    PooledIndexCache,
    costs,
    mechanisms,
)
from mla_engine.ops import causal_mask
from mla_engine.pooled_index.indexer import tokens_of
from tests.engine.kinds import GLM, layer_of
from tests.engine.samples import dense, hidden
from tests.reference_pooled_index import seen_tokens

pytestmark = pytest.mark.usefixtures("unmeasured")
forms = pytest.mark.parametrize("form", ["forward", "forward_absorbed"])
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def as_layer(kind, config, layer):
    """A layer of another kind with the weights that it shares with this one."""
    plan = kind(config, device="meta")
    weights = {name: layer.get_parameter(name) for name, _ in plan.named_parameters()}
    return kind.of_weights(config, weights, dtype=layer.dtype)


@forms
@pytest.mark.parametrize(
    ("tokens", "pooling", "topk"), [(1, 3, 3), (5, 8, 8), (8, 3, 6), (9, 2, 20)]
)
def test_up_to_its_blocks_and_its_own_it_is_dense_mla_bit_for_bit(tokens, pooling, topk, form):
    """Of 8 tokens in blocks of 3 the last is of a block that is not full: two are chosen."""
    layer, h = layer_of(replace(GLM, pooling=pooling, index_topk=topk)), hidden(2, tokens, 10)
    whole = getattr(as_layer(MultiHeadLatentAttention, dense(layer.config), layer), form)(h)
    trace = getattr(layer, form)(h)
    for name in ("attention", "scores", "o", "u"):
        assert torch.equal(getattr(trace, name), getattr(whole, name)), name
    assert not trace.left_out.any()
    assert trace.k_E.shape[1] == tokens // pooling


@forms
def test_blocks_of_one_token_are_dsa(form):
    layer, h = layer_of(replace(GLM, pooling=1)), hidden(2, 11, 10)
    own = {f.name: getattr(layer.config, f.name) for f in fields(IndexedConfig)}
    same = as_layer(IndexedLatentAttention, IndexedConfig(**own), layer)
    trace, sparse = getattr(layer, form)(h), getattr(same, form)(h)
    assert torch.equal(trace.chosen, sparse.chosen)
    assert not trace.chosen.all()
    torch.testing.assert_close(trace.index_E, sparse.index, **CLOSE)
    torch.testing.assert_close(trace.u, sparse.u, **CLOSE)
    assert torch.equal(trace.gates_I, torch.ones(2, 11, 1, 6, dtype=torch.float64))


@pytest.mark.parametrize("pooling", [1, 2, 4, 7])
def test_what_is_seen_is_the_tokens_of_chosen_blocks_and_those_of_ones_own(pooling):
    tokens, blocks = 17, 17 // pooling
    drawn = torch.rand(1, tokens, blocks, generator=torch.manual_seed(pooling)) > 0.5
    drawn &= causal_mask(tokens, tokens)[:, pooling - 1 :: pooling]
    seen = tokens_of(drawn, causal_mask(tokens, tokens), pooling)
    config = replace(GLM, pooling=pooling, index_topk=pooling)
    for t in range(tokens):
        chosen = drawn[0, t].nonzero().flatten().tolist()
        assert seen[0, t].nonzero().flatten().tolist() == seen_tokens(config, chosen, t)


def test_of_equal_blocks_the_earliest_are_chosen():
    """Every product below 0 is cut off: all index scores are 0, and equal."""
    layer = layer_of(replace(GLM, n_index_heads=1))
    layer.W_IQ.zero_()
    trace = layer(hidden(1, 14, 10))
    assert not trace.index_E.any()
    assert trace.chosen_E[0, 13].tolist() == [True, True, False, False]
    assert trace.chosen[0, 13].nonzero().flatten().tolist() == [0, 1, 2, 3, 4, 5, 12, 13]


def test_gates_of_a_channel_add_up_to_1_and_prefer_a_place_by_the_bias():
    layer, h = layer_of(GLM), hidden(1, 9, 10)
    layer.b_IZ.zero_()[0, 2] = 50.0
    trace = layer(h)
    torch.testing.assert_close(trace.gates_I.sum(2), torch.ones_like(trace.k_E))
    torch.testing.assert_close(trace.k_E, trace.k_I[:, 2::3])
    assert np.array_equal(trace.members, [[0, 1, 2], [3, 4, 5], [6, 7, 8]])


@pytest.mark.parametrize("key", PRESETS)
def test_of_any_models_sizes_it_is_the_indexer_of_dsa_over_blocks_without_rotation(key):
    config = PRESETS[key].config
    sizes = mechanisms.sizes_of(config)
    dsa, made = (mechanisms.variants()[code].config(sizes, config) for code in ("dsa", "block_dsa"))
    assert type(dsa) is IndexedConfig
    of_index = ("n_index_heads", "d_index", "index_topk")
    assert [getattr(made, name) for name in of_index] == [getattr(dsa, name) for name in of_index]
    assert (made.d_rope, made.rotation, made.latent_norm) == (0, None, dsa.latent_norm)
    assert made.pooling == (4 if config.d_model >= 1024 else 2)
    assert (made.d_latent_kv, made.d_latent_q) == (dsa.d_latent_kv, dsa.d_latent_q)


def test_a_choice_of_keys_becomes_one_of_whole_blocks():
    base = IndexedConfig(
        d_model=16, n_heads=2, d_head=4, d_latent_kv=6, n_index_heads=1, d_index=4, index_topk=7
    )
    sizes, make = mechanisms.sizes_of(base), mechanisms.variants()["block_dsa"].config
    assert (make(sizes, base).index_topk, make(sizes, base).chosen_blocks) == (6, 3)
    assert make(sizes, replace(base, index_topk=1)).index_topk == 2


def test_gpus_that_split_heads_each_keep_what_waits_for_a_blocks_key():
    serving = costs.Serving(config=GLM, caches=5, total_parameters=0, gpu_bytes=1e9, ranks=3)
    assert serving.sequence_bytes == 5 * costs.fixed_bytes(GLM, 2) > 0


def test_what_a_cache_holds_as_it_grows():
    """Latents, keys of full blocks, and what waits, token by token."""
    layer, h, cache = layer_of(GLM), hidden(2, 7, 10), PooledIndexCache.empty(GLM, 2, torch.float64)
    rows = []
    for piece in h.split(1, dim=1):
        _, cache = layer.decode(piece, cache)
        names = ("c_KV", "k_E", "k_I", "z_IE")
        rows.append(tuple(cache.buffers[name].shape[1] for name in names))
    waiting = [1, 2, 0, 1, 2, 0, 1]
    assert rows == [(n + 1, (n + 1) // 3, w, w) for n, w in enumerate(waiting)]
    assert cache.nbytes == cache.reserved_nbytes == 2 * 8 * (7 * 5 + 2 * 6 + 2 * 6)
    assert cache.k_R is None
