"""DSA against dense MLA, and its choice against a sort by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import IndexedLatentAttention, MultiHeadLatentAttention
from mla_engine.indexed.indexer import choice
from mla_engine.ops import causal_mask
from tests.engine.kinds import DSA, PLAIN_DSA, layer_of
from tests.engine.samples import dense, hidden, refused
from tests.reference_indexer import highest
from tests.sampling import many

pytestmark = pytest.mark.usefixtures("unmeasured")
forms = pytest.mark.parametrize("form", ["forward", "forward_absorbed"])


def dense_of(layer: IndexedLatentAttention) -> MultiHeadLatentAttention:
    """MLA with the same weights and no indexer."""
    config = dense(layer.config)
    plan = MultiHeadLatentAttention(config, device="meta")
    weights = {name: layer.get_parameter(name) for name, _ in plan.named_parameters()}
    return MultiHeadLatentAttention.of_weights(config, weights, dtype=layer.dtype)


@forms
@pytest.mark.parametrize("config", [DSA, PLAIN_DSA], ids=["DSA", "plain"])
@pytest.mark.parametrize(("tokens", "topk"), [(1, 1), (3, 3), (8, 8), (8, 100)])
def test_up_to_k_tokens_it_is_dense_mla_bit_for_bit(config, form, tokens, topk):
    layer = layer_of(replace(config, index_topk=topk))
    h = hidden(2, tokens, 10)
    trace, whole = getattr(layer, form)(h), getattr(dense_of(layer), form)(h)
    for name in ("attention", "scores", "o", "u"):
        assert torch.equal(getattr(trace, name), getattr(whole, name)), name
    assert torch.equal(trace.chosen, causal_mask(tokens, tokens).expand(2, -1, -1))
    assert not trace.left_out.any()


@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
@settings(max_examples=many(50, 200))
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


def test_what_a_choice_must_be_to_be_shared():
    layer, h = layer_of(DSA), hidden(2, 4, 10)
    sharing, chosen = layer_of(replace(DSA, index_shared=True)), layer(h).chosen
    with refused("chosen has the shape [2, 4, 3]", "give bool [2, 4, 4]"):
        sharing(h, chosen=chosen[:, :, :3])
    with refused("torch.float64", "give bool [2, 1, 4]"):
        sharing(h, queries=slice(0, 1), chosen=chosen[:, :1].double())
    with refused("chosen", "a bool tensor of the chosen keys"):
        sharing(h, chosen=[[True]])
