"""DSA over pooled index keys against loops, against DSA and dense MLA, and choices by hand."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import (
    PRESETS,
    IndexedConfig,
    IndexedLatentAttention,
    MultiHeadLatentAttention,
    RopeConfig,
    costs,
    mechanisms,
)
from mla_engine.ops import causal_mask
from mla_engine.pooled_index.indexer import tokens_of
from mla_engine.pooled_index.mechanism import MECHANISM
from tests import reference
from tests.engine.pooled_index_samples import GLM, PLAIN, layer_of, pooled_index_configs
from tests.engine.samples import arrays, assert_equals_oracle, dense, hidden, refused
from tests.reference_pooled_index import pooled_index, seen_tokens

FORMS = {"forward": reference.latent, "forward_absorbed": reference.absorbed}
forms = pytest.mark.parametrize("form", FORMS)
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
INDEXER = {"q_I", "w_I", "k_I_pre", "k_I", "z_IE", "members", "gates_I", "k_E", "scores_IE"}
INDEXER |= {"index_E", "chosen_E"}
CHOSEN = {
    "as it is": {},
    "one index head": {"n_index_heads": 1},
    "no query compression": {"d_latent_q": None},
    "keys beside the latent": {"d_rope": 2, "rope": None},
    "one block": {"index_topk": 3},
    "more blocks than there are": {"index_topk": 300},
    "blocks of one token": {"pooling": 1, "index_topk": 4},
}


def as_layer(kind, config, layer):
    """A layer of another kind with the weights that it shares with this one."""
    plan = kind(config, device="meta")
    weights = {name: layer.get_parameter(name) for name, _ in plan.named_parameters()}
    return kind.of_weights(config, weights, dtype=layer.dtype)


def check(config, batch, tokens, form):
    """One run against the oracle, field by field."""
    layer, h = layer_of(config), hidden(batch, tokens, config.d_model)
    trace = getattr(layer, form)(h)
    expected = pooled_index(config, arrays(layer), h.numpy(), form=FORMS[form])
    assert_equals_oracle(trace, expected, trace.steps)
    assert INDEXER | {"chosen", "left_out"} <= set(trace.steps)


@forms
@pytest.mark.parametrize("changes", CHOSEN.values(), ids=CHOSEN)
def test_equals_the_oracle(changes, form):
    check(replace(GLM, **changes), batch=2, tokens=11, form=form)


@forms
@settings(max_examples=20, deadline=None)
@given(config=pooled_index_configs(), tokens=st.integers(1, 9))
def test_equals_the_oracle_for_any_configuration(form, config, tokens):
    check(config, batch=1, tokens=tokens, form=form)


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


@forms
@pytest.mark.parametrize("rows", [slice(0, 1), slice(3, 6), slice(1, None, 3)])
def test_heads_and_queries_are_slices_of_the_whole_run(form, rows):
    layer, h = layer_of(GLM), hidden(2, 11, 10)
    full, part = getattr(layer, form)(h), getattr(layer, form)(h, heads=[2, 0], queries=rows)
    torch.testing.assert_close(part.attention, full.attention[:, [2, 0]][:, :, rows], **CLOSE)
    torch.testing.assert_close(part.left_out, full.left_out[:, [2, 0]][:, :, rows], **CLOSE)
    for name in ("q_I", "w_I", "index_E", "chosen_E", "chosen"):
        torch.testing.assert_close(getattr(part, name), getattr(full, name)[:, rows], **CLOSE)
    assert torch.equal(part.k_E, full.k_E)


@forms
def test_what_compress_keeps_stands_in_for_the_keys(form):
    layer, h = layer_of(GLM), hidden(2, 11, 10)
    held, full = layer.compress(h), getattr(layer, form)(h)
    again = getattr(layer, form)(h, latents=held, queries=slice(4, 9))
    torch.testing.assert_close(again.u, full.u[:, 4:9], **CLOSE)
    assert again.k_I is again.gates_I is again.c_KV_pre is None
    with refused("latents", "what compress() returned"):
        layer(h, latents=full)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@forms
def test_a_broken_later_token_changes_nothing_before_it(form, value):
    """Not even of its own block, whose earlier tokens are seen before it is full."""
    layer, h = layer_of(GLM), hidden(2, 11, 10)
    h[0, 7] = value
    trace, without = getattr(layer, form)(h), getattr(layer, form)(h[:, :7])
    torch.testing.assert_close(trace.u[:, :7], without.u, **CLOSE)
    assert torch.equal(trace.chosen[:, :7, :7], without.chosen)
    assert not trace.u[0, 7].isfinite().any()


def test_fused_is_the_expanded_form():
    layer, h = layer_of(GLM), hidden(2, 11, 10)
    fused = MECHANISM.fused(layer, h, torch.arange(11))
    torch.testing.assert_close(fused, layer(h).u, **CLOSE)


def test_gates_of_a_channel_add_up_to_1_and_prefer_a_place_by_the_bias():
    layer, h = layer_of(GLM), hidden(1, 9, 10)
    layer.b_IZ.zero_()[0, 2] = 50.0
    trace = layer(h)
    torch.testing.assert_close(trace.gates_I.sum(2), torch.ones_like(trace.k_E))
    torch.testing.assert_close(trace.k_E, trace.k_I[:, 2::3])
    assert np.array_equal(trace.members, [[0, 1, 2], [3, 4, 5], [6, 7, 8]])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pooling": 0}, ("pooling (0)", "at least 1")),
        ({"pooling": 2.5}, ("pooling (2.5)", "whole number")),
        ({"pooling": 4}, ("index_topk (6) must be a multiple of pooling (4)", "3 or 6")),
        ({"d_rope": 4, "rope": RopeConfig()}, ("rotated keys and pooled", "set rope to None")),
        ({"index_topk": 0}, ("index_topk (0)", "at least 1")),
    ],
)
def test_a_configuration_that_no_layer_can_have_is_refused(changes, words):
    with refused(*words):
        replace(GLM, **changes)


@forms
def test_without_latent_norms_and_compression(form):
    check(PLAIN, batch=1, tokens=7, form=form)


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
