"""Decoding DSA over pooled index keys against its prefill: every cut, shared choices, caches."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._pytree import tree_map

from mla_engine import IndexedCache, IndexedConfig, LatentConfig, PooledIndexCache, budget
from mla_engine.budget import MemoryBudgetError
from tests.engine.pooled_index_samples import GLM, PLAIN, layer_of, pooled_index_configs
from tests.engine.samples import hidden, refused
from tests.engine.test_budget import LiveBytes
from tests.engine.test_compiled import assert_same, in_one_graph

TOKENS = 11
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
MLA = LatentConfig(d_model=10, n_heads=3, d_head=4, d_latent_kv=5)
DSA = IndexedConfig(**{name: size for name, size in vars(GLM).items() if name != "pooling"})
FORWARD = {"absorbed": "forward_absorbed", "expanded": "forward"}
forms = pytest.mark.parametrize("form", FORWARD)


def decoded(layer, h, lengths, form=None):
    """The traces of all tokens, decoded in pieces of these lengths, and the cache."""
    cache, traces = PooledIndexCache.empty(layer.config, len(h), layer.dtype), []
    for piece in h.split(lengths, dim=1):
        trace, cache = layer.decode(piece, cache, form=form)
        traces.append(trace)
    return traces, cache


def assert_equals_prefill(traces, cache, whole, lengths):
    """u, what each query attends to, and what is kept."""
    ends = torch.tensor([0, *lengths]).cumsum(0).tolist()
    for trace, (first, last) in zip(traces, pairwise(ends), strict=True):
        torch.testing.assert_close(trace.u, whole.u[:, first:last], **CLOSE)
        torch.testing.assert_close(trace.left_out, whole.left_out[:, :, first:last], **CLOSE)
        wanted = whole.attention[:, :, first:last, :last]
        torch.testing.assert_close(trace.attention, wanted, **CLOSE)
        assert torch.equal(trace.chosen, whole.chosen[:, first:last, :last])
        blocks = trace.k_E.shape[1]
        assert torch.equal(trace.chosen_E, whole.chosen_E[:, first:last, :blocks])
    torch.testing.assert_close(cache.k_E, whole.k_E, **CLOSE)
    torch.testing.assert_close(cache.c_KV, whole.c_KV, **CLOSE)


@forms
@pytest.mark.parametrize("config", [GLM, PLAIN], ids=["GLM", "plain"])
@pytest.mark.parametrize("cut", range(1, TOKENS))
def test_every_cut_gives_what_prefill_gives(config, form, cut):
    layer, h = layer_of(config), hidden(2, TOKENS, 10)
    traces, cache = decoded(layer, h, [cut, TOKENS - cut], form)
    whole = getattr(layer, FORWARD[form])(h)
    assert_equals_prefill(traces, cache, whole, [cut, TOKENS - cut])
    assert traces[0].steps == traces[1].steps == whole.steps


@forms
@settings(max_examples=12, deadline=None)
@given(config=pooled_index_configs(), cuts=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_any_configuration_decodes_as_it_prefills(form, config, cuts):
    layer, h = layer_of(config), hidden(1, sum(cuts), config.d_model)
    traces, cache = decoded(layer, h, cuts, form)
    assert_equals_prefill(traces, cache, getattr(layer, FORWARD[form])(h), cuts)


def test_a_long_text_with_the_blocks_of_glm_5_3_flash():
    layer, h = layer_of(replace(GLM, pooling=16, index_topk=64)), hidden(1, 300, 10)
    whole = layer.forward_absorbed(h)
    for lengths in ([1] * 20 + [280], [299, 1], [15, 1, 1, 283], [7, 130, 163]):
        traces, cache = decoded(layer, h, lengths)
        assert_equals_prefill(traces, cache, whole, lengths)
        assert cache.k_E.shape[1] == 18
        assert cache.buffers["k_I"].shape[1] == 12


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


@forms
def test_a_layer_that_shares_a_choice_attends_as_the_one_that_chose(form):
    """Of equal weights it is the same layer, without indexer and without index keys."""
    layer, h = layer_of(GLM), hidden(2, TOKENS, 10)
    config = replace(GLM, index_shared=True)
    own = {n: p for n, p in layer.named_parameters() if "I" not in n}
    sharing = type(layer).of_weights(config, own, dtype=torch.float64)
    whole = getattr(layer, FORWARD[form])(h)
    same = getattr(sharing, FORWARD[form])(h, chosen=whole.chosen)
    assert torch.equal(same.u, whole.u)
    gone = {"q_I", "w_I", "k_I_pre", "k_I", "z_IE", "members", "gates_I", "k_E", "scores_IE"}
    assert set(whole.steps) - set(same.steps) == gone | {"index_E", "chosen_E"}
    cache, parts = PooledIndexCache.empty(config, 2, torch.float64), []
    for t in range(TOKENS):
        chosen = whole.chosen[:, t : t + 1, : t + 1]
        trace, cache = sharing.decode(h[:, t : t + 1], cache, form=form, chosen=chosen)
        parts.append(trace.u)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole.u, **CLOSE)
    assert cache.nbytes == 2 * TOKENS * 8 * 5
    assert cache.k_E is None
    with refused("shares the choice", "give chosen"):
        sharing(h)
    with refused("chooses its keys itself", "leave chosen out"):
        layer(h, chosen=whole.chosen)


def test_two_continuations_of_a_cache_do_not_disturb_each_other():
    layer, h = layer_of(GLM), hidden(1, 8, 10)
    _, held = decoded(layer, h[:, :5], [5])
    one, _ = layer.decode(h[:, 5:6], held)
    layer.decode(2 * h[:, 5:6], held)
    again, _ = layer.decode(h[:, 5:6], held)
    assert torch.equal(one.u, again.u)
    assert held.length == 5


def test_what_does_not_fit_is_refused_with_what_to_do():
    layer, h = layer_of(GLM), hidden(2, 4, 10)
    _, cache = layer.decode(h, PooledIndexCache.empty(GLM, 2, torch.float64, capacity=6))
    with refused("capacity (6) is too small for 4 tokens held and 4 new"):
        layer.decode(h, cache)
    with refused("cannot go back to 3", "keep the cache of 3 tokens"):
        cache.prefix(3)
    with refused("cache", "PooledIndexCache"):
        layer.decode(h, IndexedCache.empty(DSA, 2, torch.float64))
    with refused("form ('dense')"):
        layer.decode(h, cache, form="dense")
    with refused("config", "PooledIndexConfig"):
        PooledIndexCache.empty(MLA)
    other = PooledIndexCache.empty(replace(GLM, pooling=2), 2, torch.float64)
    with refused("the cache is for"):
        layer.decode(h, other)


@forms
def test_a_step_is_estimated_as_it_is_and_no_run_holds_more(form, monkeypatch):
    needed = []
    monkeypatch.setattr(budget, "require", lambda most, *_: needed.append(most))
    layer, h = layer_of(GLM, dtype=torch.float32), hidden(1, 20, 10, dtype=torch.float32)
    cache = PooledIndexCache.empty(GLM)
    for piece in h.split([9, 1, 1, 1, 1, 1, 6], dim=1):
        needed.clear()
        with LiveBytes() as real:
            _, cache = layer.decode(piece, cache, form=form)
        assert real.peak <= needed[-1]
    with LiveBytes() as real:
        getattr(layer, FORWARD[form])(h)
    assert real.peak <= needed[-1]


def test_a_run_beyond_the_budget_is_refused_before_it_begins(monkeypatch):
    layer, h = layer_of(GLM, dtype=torch.float32), hidden(1, 200, 10, dtype=torch.float32)
    monkeypatch.setenv(budget.VARIABLE, "1e-4")
    with pytest.raises(MemoryBudgetError, match="PooledIndexAttention prefill needs"):
        layer(h)
    with pytest.raises(MemoryBudgetError, match="PooledIndexCache needs"):
        PooledIndexCache.empty(GLM, capacity=10_000)


def test_a_step_as_one_compiled_graph_gives_the_same():
    layer, h = layer_of(GLM), hidden(2, 9, 10)
    _, held = layer.decode(h[:, :8], PooledIndexCache.empty(GLM, 2, torch.float64))
    trace, cache = in_one_graph(lambda x: layer.decode(x, held))(h[:, 8:])
    wanted, _ = layer.decode(h[:, 8:], held)
    assert_same(trace, wanted)
    assert cache.length == 9


def test_a_cache_is_a_tree_of_its_tensors_and_comes_back():
    _, cache = decoded(layer_of(GLM), hidden(1, 7, 10), [7])
    again = tree_map(lambda part: part if part is None else part.clone(), cache)
    assert (again.length, again.config) == (7, GLM)
    assert {n: b.tolist() for n, b in again.buffers.items()} == {
        n: b.tolist() for n, b in cache.buffers.items()
    }
