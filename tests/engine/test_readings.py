"""Maps of what a query reads: of a state by loops over its products, of entries by the run."""

import math

import numpy as np
import pytest
import torch

from mla_engine.delta.reading import memory, value_weights
from mla_engine.pooled.reading import columns, given, pooled_from
from tests.engine.kinds import CSA, KDA, OF_DELTA, OF_POOLED, layer_of
from tests.engine.samples import arrays, hidden
from tests.reference_delta import delta
from tests.reference_pooled import pooled, slots

CLOSE = {"rtol": 1e-11, "atol": 1e-13}


def by_products(x, place, scale):
    """One weight: b_s k_s through every later token's (I - b k k^T) Diag(a), along q_t."""
    b, t, i, s = place
    row = x["b"][b, s, i] * x["k_D"][b, s, i]
    for u in range(s + 1, t + 1):
        k, a = x["k_D"][b, u, i], x["a"][b, u, i]
        row = (np.eye(len(k)) - x["b"][b, u, i] * np.outer(k, k)) @ np.diag(a) @ row
    return float(row @ x["q_D"][b, t, i]) * scale


@pytest.mark.parametrize("config", OF_DELTA.values(), ids=OF_DELTA)
def test_the_weights_of_a_state_are_the_products_and_weigh_the_values_to_what_is_read(config):
    layer, h = layer_of(config), hidden(2, 7, config.d_model)
    x = delta(config, arrays(layer), h.numpy())
    found = value_weights(layer, layer.forward_recurrent(h)).numpy()
    assert found.shape == (2, 3, 7, 7)
    for b, i, t, s in np.ndindex(*found.shape):
        wanted = by_products(x, (b, t, i, s), config.d_head**-0.5) if s <= t else 0.0
        assert found[b, i, t, s] == pytest.approx(wanted, rel=1e-11, abs=1e-14), (b, i, t, s)
    read = np.einsum("bhts,bshv->bthv", found, x["v_D"])
    np.testing.assert_allclose(read, x["o"], **CLOSE)
    assert (found < 0).any(), "a weight may be below 0"


def test_they_are_those_of_the_chunked_form_and_of_some_heads_alone():
    layer, h = layer_of(KDA), hidden(1, 70, KDA.d_model)
    trace = layer.forward_recurrent(h)
    q_D = trace.q_D.clone()
    every = value_weights(layer, trace)
    assert torch.equal(trace.q_D, q_D), "the trace stays as it is"
    torch.testing.assert_close(value_weights(layer, layer(h)), every, **CLOSE)
    torch.testing.assert_close(value_weights(layer, layer(h, heads=[2])), every[:, [2]], **CLOSE)


@pytest.mark.parametrize("config", OF_POOLED.values(), ids=OF_POOLED)
def test_one_softmax_over_the_columns_is_the_runs_attention_entries_and_sink(config):
    layer, h = layer_of(config), hidden(2, 13, config.d_model)
    trace = layer(h)
    logits, seen = columns(layer, trace)
    entries = 13 // config.pooling if config.pooling else 0
    assert logits.shape == (2, 4, 13, 13 + entries + 1)
    shares = logits.masked_fill(~seen.unsqueeze(1), -torch.inf).softmax(-1)
    torch.testing.assert_close(shares.sum(-1), torch.ones(2, 4, 13, dtype=torch.float64))
    x = pooled(config, arrays(layer), h.numpy(), range(13))
    parts = (x["attention"], x["attention_E"], x["sink_mass"][..., None])
    np.testing.assert_allclose(shares, np.concatenate(parts, -1), **CLOSE)


def test_an_entry_is_of_the_tokens_that_it_pools_by_the_mean_of_their_gates():
    layer, h = layer_of(CSA), hidden(2, 10, CSA.d_model)
    x = pooled(CSA, arrays(layer), h.numpy(), range(10))
    trace = layer(h)
    found = pooled_from(trace.gates, trace.members, 10)
    assert found.shape == (2, 3, 10)
    wanted = np.zeros(found.shape)
    for b, e in np.ndindex(2, 3):
        for p, (s, _) in enumerate(slots(CSA, e)):
            if s is not None:
                wanted[b, e, s] += x["gates"][b, e, p].mean()
    np.testing.assert_allclose(found, wanted, **CLOSE)
    np.testing.assert_allclose(found.sum(-1), np.ones((2, 3)), **CLOSE)


def loops_over_queries(x, head, queries):
    """Return a head's mean over (row, query) pairs for window, entries and sink."""
    names = ("attention", "attention_E", "sink_mass")
    sums = [math.fsum(float(x[name][b, head, t].sum()) for b, t in queries) for name in names]
    return [one / len(queries) for one in sums]


@pytest.mark.parametrize("name", OF_POOLED)
def test_what_a_head_gives_is_the_mean_over_the_queries_that_have_an_entry(name):
    config = OF_POOLED[name]
    layer, h = layer_of(config), hidden(2, 13, config.d_model)
    x, found = pooled(config, arrays(layer), h.numpy(), range(13)), given(layer(h))
    first = config.pooling - 1 if config.pooling else 0
    queries = [(b, t) for b in range(2) for t in range(first, 13)]
    assert found.queries == len(queries)
    for head in range(config.n_heads):
        wanted = loops_over_queries(x, head, queries)
        parts = [float(part[head]) for part in (found.window, found.entries, found.sink)]
        np.testing.assert_allclose(parts, wanted, **CLOSE)
        assert math.fsum(parts) == pytest.approx(1, rel=1e-12)
    assert bool(found.entries.any()) == bool(config.pooling)


def test_before_the_first_entry_all_queries_count():
    layer, h = layer_of(CSA), hidden(1, CSA.pooling - 1, CSA.d_model)
    found = given(layer(h))
    assert (found.queries, float(found.entries.sum())) == (CSA.pooling - 1, 0)


@pytest.mark.parametrize("config", OF_DELTA.values(), ids=OF_DELTA)
def test_a_half_life_halves_what_the_decay_leaves_of_a_row(config):
    layer, h = layer_of(config), hidden(2, 9, config.d_model)
    x = delta(config, arrays(layer), h.numpy())
    for trace in (layer.forward_recurrent(h), layer(h)):
        found = memory(trace)
        for i, k in np.ndindex(config.n_heads, config.d_head):
            left = math.prod(float(a) for a in x["a"][:, :, i, k].ravel())  # of both texts
            tokens = x["a"][:, :, i, k].size
            halved = 0.5 ** (tokens / float(found.half_life[i, k]))
            assert halved == pytest.approx(left, rel=1e-9)
        np.testing.assert_allclose(found.strength, x["b"].mean(0).T, **CLOSE)
        put = np.linalg.norm(x["b"][..., None] * x["v_D"], axis=-1).mean((0, 1))
        erased = np.linalg.norm(x["erased"], axis=-1).mean((0, 1))
        np.testing.assert_allclose(found.put, put, **CLOSE)
        np.testing.assert_allclose(found.erased, erased, **CLOSE)
    some = memory(layer(h, heads=[2]))
    np.testing.assert_allclose(some.half_life[0], found.half_life[2], **CLOSE)
