"""CSA, HCA and windows: what an entry stands for, who sees it, and choices against a sort."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import PooledCache, RopeConfig
from mla_engine.pooled.entries import choice
from tests.engine.kinds import CSA, HCA, OF_POOLED, SWA, layer_of
from tests.engine.samples import hidden, refused, relative
from tests.engine.test_longrope import SCALING
from tests.reference_indexer import highest
from tests.sampling import many

pytestmark = pytest.mark.usefixtures("unmeasured")
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
kinds = pytest.mark.parametrize("config", OF_POOLED.values(), ids=OF_POOLED)


@kinds
def test_window_entries_and_sink_share_one_softmax(config):
    trace = layer_of(config)(hidden(2, 13, 10))
    total = trace.attention.sum(-1) + trace.sink_mass
    if config.pooling:
        assert not trace.attention_E.masked_fill(trace.chosen_E[:, None], 0).any()
        assert torch.allclose(trace.gates.sum(2), torch.ones(()).double(), **CLOSE)
        total = total + trace.attention_E.sum(-1)
    torch.testing.assert_close(total, torch.ones_like(total), **CLOSE)
    assert (trace.sink_mass > 0).all()
    seen = (trace.attention > 0).sum(-1)
    assert seen[0, 0].tolist() == [min(t + 1, config.window) for t in range(13)]


def test_a_sink_that_takes_nothing_leaves_plain_attention_over_a_window():
    """torch's own attention, which has no sink."""
    layer, h = layer_of(replace(SWA, d_rope=0)), hidden(2, 9, 10)
    layer.sink.fill_(-torch.inf)
    trace = layer(h)
    q, kv = trace.q.transpose(1, 2), trace.kv_T[:, None].expand(-1, 4, -1, -1)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, kv, kv, attn_mask=trace.mask)
    torch.testing.assert_close(trace.o, wanted.transpose(1, 2), **CLOSE)
    assert not trace.sink_mass.any()


def test_which_tokens_an_entry_stands_for():
    """CSA's also for those of the block before, whose first series it takes; HCA's for its own."""
    h = hidden(1, 11, 10)
    assert layer_of(HCA)(h).members.tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    of_csa = layer_of(CSA)(h).members.tolist()
    assert of_csa == [[-1, -1, -1, 0, 1, 2], [0, 1, 2, 3, 4, 5], [3, 4, 5, 6, 7, 8]]


@pytest.mark.parametrize("config", [CSA, HCA], ids=["CSA", "HCA"])
def test_an_entry_is_of_the_tokens_that_it_stands_for_and_of_no_other(config):
    layer, h = layer_of(config), hidden(1, 13, 10)
    before = layer(h)
    for token in range(13):
        changed = h.clone()
        changed[0, token] += 1
        moved = (layer(changed).kv_E != before.kv_E).any(-1)[0]
        assert moved.tolist() == (before.members == token).any(-1).tolist()


def test_a_query_sees_an_entry_once_all_of_its_block_is_there():
    chosen = layer_of(HCA)(hidden(1, 12, 10)).chosen_E[0]
    assert chosen.sum(-1).tolist() == [0] * 4 + [1] * 5 + [2] * 3


def test_only_distances_count():
    """The output's rotation is undone at the query: a text may begin at any position."""
    for config in OF_POOLED.values():
        layer, h = layer_of(config), hidden(1, 13, 10)
        moved = layer(h, positions=range(70, 83))
        torch.testing.assert_close(moved.u, layer(h).u, rtol=1e-11, atol=1e-11)
        assert (moved.o_turned - layer(h).o_turned).abs().max() > 1e-3


@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
@settings(max_examples=many(30, 200))
@given(entries=st.integers(0, 20), topk=st.integers(1, 25), seed=st.integers(0, 2**32))
def test_the_choice_is_a_sort_by_hand_of_which_equal_ones_are_taken_in_order(
    levels, entries, topk, seed
):
    """Few levels make many ties, also around 0, where +0 and -0 are equal."""
    drawn = torch.randint(levels, (2, 21, entries), generator=torch.manual_seed(seed))
    index = (drawn - levels // 2).double() * (-1.0) ** drawn
    visible = torch.arange(entries) < torch.arange(21)[:, None]
    chosen = choice(index, visible, topk)
    for b in range(2):
        for t in range(21):
            wanted = highest(index[b, t, : min(t, entries)].tolist(), topk)
            assert chosen[b, t].nonzero().flatten().tolist() == wanted


def test_where_index_heads_find_nothing_the_first_entries_are_kept():
    layer = layer_of(replace(CSA, d_rope=0))
    layer.c_Q_norm.zero_()  # the index query is 0
    trace = layer(hidden(1, 13, 10))
    assert not trace.index_E.any()
    assert trace.chosen_E[0, 12].tolist() == [True, True, False, False]


@kinds
@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
def test_in_16_bits_it_is_as_near_as_16_bits_are(config, dtype, most):
    """With every entry chosen: scores that round alike may choose others."""
    every = replace(config, index_topk=config.index_topk and 100)
    narrow = layer_of(every, dtype=dtype)
    exact = layer_of(every)
    for name, parameter in narrow.named_parameters():
        exact.get_parameter(name).copy_(parameter)
    h = hidden(2, 13, 10, dtype=dtype)
    trace = narrow(h)
    assert {getattr(trace, name).dtype for name in ("u", "attention", "sink_mass")} == {dtype}
    assert relative(trace.u, exact(h.double()).u) < most
    _, held = narrow.decode(h[:, :6], narrow.empty_cache(PooledCache, 2))
    after, _ = narrow.decode(h[:, 6:], held)
    assert relative(after.u, exact(h.double()).u[:, 6:]) < most


def test_what_a_cache_holds_as_it_grows():
    """Tokens in the window, waiting, given ahead, and entries, token by token."""
    layer, h, cache = layer_of(CSA), hidden(2, 8, 10), PooledCache.empty(CSA, 2, torch.float64)
    rows = []
    for piece in h.split(1, dim=1):
        _, cache = layer.decode(piece, cache)
        names = ("kv_T", "c_E", "c_ahead", "kv_E", "k_E")
        rows.append(tuple(cache.buffers[name].shape[1] for name in names))
    assert rows == [
        (1, 1, 0, 0, 0), (2, 2, 0, 0, 0), (3, 0, 3, 1, 1), (3, 1, 3, 1, 1),
        (3, 2, 3, 1, 1), (3, 0, 3, 2, 2), (3, 1, 3, 2, 2), (3, 2, 3, 2, 2),
    ]  # fmt: skip
    of_keys = 3 * 6 + 2 * 6 + 2 * (2 * 2 * 6) + 2 * (3 * 6)
    of_index = 2 * 5 + 2 * (2 * 2 * 5) + 2 * (3 * 5)
    assert cache.nbytes == cache.reserved_nbytes == 2 * 8 * (of_keys + of_index)


def test_a_rotation_that_changes_with_the_length_is_refused_where_entries_keep_theirs():
    rope = RopeConfig(scaling=SCALING)
    with refused("LongRoPE", "another scaling"):
        replace(CSA, rope=rope)
    assert replace(SWA, rope=rope).rotation == rope
