"""CSA, HCA and windows against loops written from their equations, and against a sort by hand."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import PooledAttention, PooledCache, RopeConfig
from mla_engine.pooled.indexer import choice
from mla_engine.pooled.mechanism import MECHANISM
from tests.engine.pooled_samples import CSA, HCA, KINDS, SWA, YARN, layer_of, pooled_configs
from tests.engine.samples import arrays, assert_equals_oracle, hidden, relative
from tests.reference_indexer import highest
from tests.reference_pooled import pooled

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
kinds = pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
SAMPLES = KINDS | {
    "one entry": replace(CSA, index_topk=1),
    "more entries than there are": replace(CSA, index_topk=100),
    "overlap, all entries": replace(HCA, overlap=True),
    "chosen without overlap": replace(CSA, overlap=False),
    "each token an entry": replace(HCA, pooling=1),
    "a window of one": replace(CSA, window=1),
    "a window of all": replace(HCA, window=50),
    "no rotary part": replace(CSA, d_rope=0),
    "rotary part not rotated": replace(CSA, rope=None),
    "YaRN": replace(CSA, rope=RopeConfig(theta=160000.0, scaling=YARN)),
    "pairs in halves": replace(CSA, rope=RopeConfig(pairing="half")),
    "a group a head": replace(CSA, n_output_groups=4),
}
OF_ENTRIES = {"members", "c_E", "z_E", "gates", "kv_E_pre", "kv_E_normed", "kv_E"}
OF_ENTRIES |= {"chosen_E", "scores_E", "attention_E"}
OF_INDEX = {"q_I_pre", "q_I", "w_I", "c_IE", "z_IE", "gates_I", "k_E_pre", "k_E_normed", "k_E"}
OF_INDEX |= {"scores_IE", "index_E"}


def check(config, batch, tokens, start):
    """One run against the oracle, field by field."""
    layer, h = layer_of(config), hidden(batch, tokens, config.d_model)
    positions = list(range(start, start + tokens))
    trace = layer(h, positions=positions)
    expected = pooled(config, arrays(layer), h.numpy(), positions)
    assert_equals_oracle(trace, expected, trace.steps)
    assert (set(trace.steps) >= OF_ENTRIES) == bool(config.pooling)
    assert (set(trace.steps) >= OF_INDEX) == config.chooses


@pytest.mark.parametrize("config", SAMPLES.values(), ids=SAMPLES)
def test_equals_the_oracle(config):
    check(config, batch=2, tokens=13, start=0)


@settings(max_examples=40, deadline=None)
@given(config=pooled_configs(), tokens=st.integers(1, 10), start=st.sampled_from([0, 61]))
def test_equals_the_oracle_for_any_configuration(config, tokens, start):
    check(config, batch=1, tokens=tokens, start=start)


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
    for config in KINDS.values():
        layer, h = layer_of(config), hidden(1, 13, 10)
        moved = layer(h, positions=range(70, 83))
        torch.testing.assert_close(moved.u, layer(h).u, rtol=1e-11, atol=1e-11)
        assert (moved.o_turned - layer(h).o_turned).abs().max() > 1e-3


@kinds
def test_each_sequence_may_stand_elsewhere(config):
    layer, h = layer_of(config), hidden(2, 13, 10)
    positions = torch.stack((torch.arange(13), torch.arange(70, 83) ** 2))
    together = layer(h, positions=positions)
    for b in range(2):
        alone = layer(h[b : b + 1], positions=positions[b])
        torch.testing.assert_close(together.u[b], alone.u[0], **CLOSE)


@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
@settings(max_examples=30, deadline=None)
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
@pytest.mark.parametrize("rows", [slice(0, 1), slice(3, 6), slice(1, None, 3)])
def test_heads_and_queries_are_slices_of_the_whole_run(config, rows):
    layer, h = layer_of(config), hidden(2, 13, 10)
    full, part = layer(h), layer(h, heads=[3, 0], queries=rows)
    for name in ("scores_T", "scores_E", "attention", "attention_E", "sink_mass"):
        if getattr(full, name) is not None:
            wanted = getattr(full, name)[:, [3, 0]][:, :, rows]
            torch.testing.assert_close(getattr(part, name), wanted, **CLOSE)
    for name in ("q", "o"):
        wanted = getattr(full, name)[:, rows][:, :, [3, 0]]
        torch.testing.assert_close(getattr(part, name), wanted, **CLOSE)
    assert part.c_O.shape[2] == 2, "a group of each of the two"
    if config.chooses:
        assert torch.equal(part.chosen_E, full.chosen_E[:, rows])


@kinds
def test_outputs_of_a_partition_of_the_heads_add_up(config):
    layer, h = layer_of(config), hidden(2, 13, 10)
    parts = [layer(h, heads=heads) for heads in ([1], [3, 0, 2])]
    torch.testing.assert_close(sum(part.u for part in parts), layer(h).u, **CLOSE)
    assert parts[0].c_O.shape[2] == 1


def test_a_head_is_the_same_alone():
    one, other = (PooledAttention(CSA, seed=4, heads=heads) for heads in (None, [2]))
    for name, parameter in other.named_parameters():
        whole = one.get_parameter(name)
        if name in ("W_UQ", "W_DO", "sink"):
            whole = whole[[2]]
        if name == "W_UO":  # of the group that the head belongs to
            whole = whole[:, [2 // CSA.group_size]]
        assert torch.equal(parameter, whole), name
    h = hidden(1, 13, 10, dtype=torch.float32)
    torch.testing.assert_close(other(h).u, one(h, heads=[2]).u)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@kinds
def test_a_broken_later_token_changes_nothing_before_it(config, value):
    layer, h = layer_of(config), hidden(2, 13, 10)
    h[0, 7] = value
    trace, without = layer(h), layer(h[:, :7])
    torch.testing.assert_close(trace.u[:, :7], without.u, **CLOSE)
    assert not trace.u[0, 7].isfinite().any()
    assert trace.u[1].isfinite().all(), "the other sequence is whole"


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


def test_fused_is_the_run():
    layer, h = layer_of(CSA), hidden(2, 9, 10)
    torch.testing.assert_close(MECHANISM.fused(layer, h, torch.arange(9)), layer(h).u, **CLOSE)


@kinds
def test_gradients_flow(config):
    layer = layer_of(config).requires_grad_(True)
    layer(hidden(1, 13, 10)).u.square().sum().backward()
    still = {name for name, p in layer.named_parameters() if p.grad is None or not p.grad.any()}
    assert still == {name for name, _ in layer.named_parameters() if "I" in name or "k_E" in name}
