"""What a query reads, as one map: of a state by loops over its products, of entries by the run."""

import numpy as np
import pytest
import torch

from mla_engine.delta.reading import value_weights
from mla_engine.pooled.reading import columns, pooled_from
from tests.engine import delta_samples, pooled_samples
from tests.engine.delta_samples import CONFIGS, KDA
from tests.engine.pooled_samples import CSA, KINDS
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


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_weights_of_a_state_are_the_products_and_weigh_the_values_to_what_is_read(config):
    layer, h = delta_samples.layer_of(config), hidden(2, 7, config.d_model)
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
    layer, h = delta_samples.layer_of(KDA), hidden(1, 70, KDA.d_model)
    trace = layer.forward_recurrent(h)
    q_D = trace.q_D.clone()
    every = value_weights(layer, trace)
    assert torch.equal(trace.q_D, q_D), "the trace stays as it is"
    torch.testing.assert_close(value_weights(layer, layer(h)), every, **CLOSE)
    torch.testing.assert_close(value_weights(layer, layer(h, heads=[2])), every[:, [2]], **CLOSE)


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_one_softmax_over_the_columns_is_the_runs_attention_entries_and_sink(config):
    layer, h = pooled_samples.layer_of(config), hidden(2, 13, config.d_model)
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
    layer, h = pooled_samples.layer_of(CSA), hidden(2, 10, CSA.d_model)
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
