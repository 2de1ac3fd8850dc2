"""DSA against loops written from its equations, against dense MLA, and against a sort by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import IndexedCache, IndexedLatentAttention, MultiHeadLatentAttention, RopeConfig
from mla_engine.indexed.indexer import choice
from mla_engine.indexed.mechanism import MECHANISM
from mla_engine.ops import causal_mask
from tests import reference
from tests.engine.indexed_samples import DSA, FORMS, PLAIN, indexed_configs, layer_of
from tests.engine.samples import YARN, arrays, assert_equals_oracle, dense, hidden, randomized
from tests.engine.test_compiled import assert_same, in_one_graph
from tests.reference_indexer import highest, indexed

ORACLES = dict(zip(FORMS, (reference.latent, reference.absorbed), strict=True))
forms = pytest.mark.parametrize("form", FORMS)
CHOSEN = {
    "one index head": {"n_index_heads": 1},
    "interleaved": {"index_pairing": "interleaved"},
    "index keys as wide as their rotated part": {"d_index": 4},
    "no query compression": {"d_latent_q": None},
    "no rotary part": {"d_rope": 0},
    "rotary part not rotated": {"rope": None},
    "YaRN": {"rope": RopeConfig(scaling=YARN)},
    "main pairing in halves": {"rope": RopeConfig(pairing="half")},
    "one key": {"index_topk": 1},
    "more keys than tokens": {"index_topk": 100},
}


def dense_of(layer: IndexedLatentAttention) -> MultiHeadLatentAttention:
    """MLA with the same weights and no indexer."""
    config = dense(layer.config)
    plan = MultiHeadLatentAttention(config, device="meta")
    weights = {name: layer.get_parameter(name) for name, _ in plan.named_parameters()}
    return MultiHeadLatentAttention.of_weights(config, weights, dtype=layer.dtype)


def check(config, batch, tokens, start, form):
    """One run against the oracle, field by field."""
    layer, h = layer_of(config), hidden(batch, tokens, config.d_model)
    positions = list(range(start, start + tokens))
    trace = getattr(layer, form)(h, positions=positions)
    expected = indexed(config, arrays(layer), h.numpy(), positions, form=ORACLES[form])
    assert_equals_oracle(trace, expected, trace.steps)
    assert {"q_I", "k_I", "scores_I", "index", "chosen", "left_out"} <= set(trace.steps)


@forms
@pytest.mark.parametrize("changes", CHOSEN.values(), ids=CHOSEN)
def test_equals_the_oracle(changes, form):
    check(replace(DSA, **changes), batch=2, tokens=8, start=61, form=form)


@forms
@settings(max_examples=25, deadline=None)
@given(config=indexed_configs(), tokens=st.integers(1, 8), start=st.sampled_from([0, 60]))
def test_equals_the_oracle_for_any_configuration(form, config, tokens, start):
    check(config, batch=1, tokens=tokens, start=start, form=form)


@forms
@pytest.mark.parametrize("config", [DSA, PLAIN], ids=["DSA", "plain"])
@pytest.mark.parametrize(("tokens", "topk"), [(1, 1), (3, 3), (8, 8), (8, 100)])
def test_up_to_k_tokens_it_is_dense_mla_bit_for_bit(config, form, tokens, topk):
    layer = layer_of(replace(config, index_topk=topk))
    h = hidden(2, tokens, 10)
    trace, whole = getattr(layer, form)(h), getattr(dense_of(layer), form)(h)
    for name in ("attention", "scores", "o", "u"):
        assert torch.equal(getattr(trace, name), getattr(whole, name)), name
    assert torch.equal(trace.chosen, causal_mask(tokens, tokens).expand(2, -1, -1))
    assert not trace.left_out.any()


@forms
def test_beyond_k_tokens_it_is_another_attention_from_the_first_query_that_sees_more(form):
    layer, h = layer_of(DSA), hidden(2, 9, 10)
    trace, whole = getattr(layer, form)(h), getattr(dense_of(layer), form)(h)
    seen = DSA.index_topk
    torch.testing.assert_close(trace.u[:, :seen], whole.u[:, :seen], rtol=1e-12, atol=1e-12)
    assert (trace.u - whole.u)[:, seen:].abs().amax(-1).min() > 1e-3


@forms
def test_what_is_left_out_is_what_the_dense_run_gives_to_the_other_keys(form):
    layer, h = layer_of(DSA), hidden(2, 9, 10)
    trace, whole = getattr(layer, form)(h), getattr(dense_of(layer), form)(h)
    lost = whole.attention.masked_fill(trace.chosen[:, None], 0).sum(-1)
    torch.testing.assert_close(trace.left_out, lost, rtol=1e-12, atol=1e-12)
    kept = whole.attention.masked_fill(~trace.chosen[:, None], 0)
    again = kept / (1 - trace.left_out)[..., None]
    torch.testing.assert_close(trace.attention, again, rtol=1e-12, atol=1e-12)
    assert (trace.left_out[:, :, DSA.index_topk :] > 0).all()


@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
@settings(max_examples=50, deadline=None)
@given(tokens=st.integers(1, 40), topk=st.integers(1, 50), seed=st.integers(0, 2**32))
def test_the_choice_is_a_sort_by_hand_of_which_equal_ones_are_taken_in_order(
    levels, tokens, topk, seed
):
    """Few levels make many ties, also around 0, where +0 and -0 are equal."""
    drawn = torch.randint(levels, (2, tokens, tokens), generator=torch.manual_seed(seed))
    index = (drawn - levels // 2).double() * (-1.0) ** drawn
    chosen = choice(index, causal_mask(tokens, tokens), topk)
    for b, t in np.ndindex(2, tokens):
        assert chosen[b, t].nonzero().flatten().tolist() == highest(
            index[b, t, : t + 1].tolist(), topk
        )


def test_a_layer_whose_index_heads_find_nothing_keeps_the_first_keys():
    """Every product below 0 is cut off: all index scores are 0, and equal."""
    layer = layer_of(replace(DSA, d_rope=0, n_index_heads=1))
    layer.k_I_norm.zero_()
    layer.b_IK.copy_(torch.ones(6))
    layer.W_IQ.copy_(-layer.W_IQ.abs())
    layer.c_Q_norm.zero_()  # the index query is 0
    trace = layer(hidden(1, 7, 10))
    assert not trace.index.any()
    assert trace.chosen[0, 6].tolist() == [True] * 3 + [False] * 4


@forms
@pytest.mark.parametrize("rows", [slice(0, 1), slice(3, 6), slice(1, None, 3)])
def test_heads_and_queries_are_slices_of_the_whole_run(form, rows):
    layer, h = layer_of(DSA), hidden(2, 8, 10)
    full, part = getattr(layer, form)(h), getattr(layer, form)(h, heads=[2, 0], queries=rows)
    close = {"rtol": 1e-12, "atol": 1e-12}
    torch.testing.assert_close(part.attention, full.attention[:, [2, 0]][:, :, rows], **close)
    torch.testing.assert_close(part.left_out, full.left_out[:, [2, 0]][:, :, rows], **close)
    torch.testing.assert_close(part.scores_I, full.scores_I[:, :, rows], **close)
    for name in ("q_I", "w_I", "index"):
        torch.testing.assert_close(getattr(part, name), getattr(full, name)[:, rows], **close)
    assert torch.equal(part.chosen, full.chosen[:, rows])
    assert torch.equal(part.k_I, full.k_I)


@forms
def test_outputs_of_a_partition_of_the_heads_add_up(form):
    layer, h = layer_of(DSA), hidden(2, 8, 10)
    parts = [getattr(layer, form)(h, heads=heads).u for heads in ([1], [0, 2])]
    torch.testing.assert_close(sum(parts), getattr(layer, form)(h).u, rtol=1e-12, atol=1e-12)


@forms
def test_what_compress_keeps_stands_in_for_the_keys(form):
    layer, h = layer_of(DSA), hidden(2, 8, 10)
    positions = torch.arange(40, 48)
    held = layer.compress(h, positions=positions)
    full = getattr(layer, form)(h, positions=positions)
    again = getattr(layer, form)(h, latents=held, queries=slice(4, 7))
    torch.testing.assert_close(again.u, full.u[:, 4:7], rtol=1e-12, atol=1e-12)
    assert again.k_I_pre is again.k_I_normed is again.c_KV_pre is None
    assert torch.equal(held.k_I, full.k_I)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@forms
def test_a_broken_later_token_changes_nothing_before_it(form, value):
    layer, h = layer_of(DSA), hidden(2, 8, 10)
    h[0, 5] = value
    trace, without = getattr(layer, form)(h), getattr(layer, form)(h[:, :5])
    torch.testing.assert_close(trace.u[:, :5], without.u, rtol=1e-12, atol=1e-12)
    assert torch.equal(trace.chosen[:, :5, :5], without.chosen)
    assert not trace.u[0, 5].isfinite().any()


def test_fused_is_the_expanded_form():
    layer, h = layer_of(DSA), hidden(2, 9, 10)
    fused = MECHANISM.fused(layer, h, torch.arange(9))
    torch.testing.assert_close(fused, layer(h).u, rtol=1e-12, atol=1e-12)


def test_an_index_key_has_a_norm_and_its_weights_are_drawn_by_their_names():
    one, other = (randomized(IndexedLatentAttention(DSA, seed=4, heads=h)) for h in (None, [2]))
    for name in ("W_IQ", "W_IK", "W_IW", "k_I_norm", "b_IK"):
        assert torch.equal(one.get_parameter(name), other.get_parameter(name)), name
    assert torch.equal(one.W_UQ[[2]], other.W_UQ)


def test_a_step_as_one_compiled_graph_gives_the_same():
    layer, h = layer_of(DSA), hidden(2, 9, 10)
    _, held = layer.decode(h[:, :8], IndexedCache.empty(DSA, 2, torch.float64))
    trace, cache = in_one_graph(lambda x: layer.decode(x, held))(h[:, 8:])
    wanted, _ = layer.decode(h[:, 8:], held)
    assert_same(trace, wanted)
    assert cache.length == 9
