"""A layer made of given weights, and the positions that a configuration refuses."""

from dataclasses import replace

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
)
from tests.engine.samples import hidden, randomized

LATENT = LatentConfig(
    d_model=24, n_heads=4, d_head=6, d_latent_kv=8, d_rope=4, d_latent_q=10, latent_norm=True
)
GROUPED = GroupedConfig(d_model=24, n_heads=4, n_kv_heads=2, d_head=6, bias=True, qk_norm=True)
LAYERS = pytest.mark.parametrize(
    ("layer_type", "config"),
    [(MultiHeadLatentAttention, LATENT), (GroupedQueryAttention, GROUPED)],
    ids=["latent", "grouped"],
)


@LAYERS
@torch.no_grad()
def test_computes_what_the_layer_computes_whose_weights_it_got(layer_type, config):
    drawn = randomized(layer_type(config, seed=3, dtype=torch.float64))
    given = layer_type.of_weights(config, dict(drawn.named_parameters()), dtype=torch.float64)
    h = hidden(1, 5, 24)
    assert torch.equal(given(h).u, drawn(h).u)
    assert not any(p.requires_grad for p in given.parameters())


@LAYERS
def test_draws_nothing(layer_type, config, monkeypatch):
    drawn = layer_type(config, heads=[3, 1])
    weights = dict(drawn.named_parameters())
    monkeypatch.setattr(torch.Tensor, "normal_", lambda *_, **__: pytest.fail("weights drawn"))
    given = layer_type.of_weights(config, weights, heads=[3, 1], dtype=torch.bfloat16)
    assert given.heads == (3, 1)
    assert {p.dtype for p in given.parameters()} == {torch.bfloat16}


@LAYERS
def test_refuses_weights_that_do_not_fit(layer_type, config):
    weights = dict(layer_type(config).named_parameters())
    with pytest.raises(ValueError, match=r"W_O: the layer has \[24, 4, 6\], .* given nothing"):
        layer_type.of_weights(config, {n: w for n, w in weights.items() if n != "W_O"})
    with pytest.raises(ValueError, match=r"W_O: the layer has \[24, 4, 6\], .* given \[6, 4, 24\]"):
        layer_type.of_weights(config, weights | {"W_O": torch.zeros(6, 4, 24)})
    with pytest.raises(ValueError, match=r"W_X: the layer has no such weight, .* given \[2\]"):
        layer_type.of_weights(config, weights | {"W_X": torch.zeros(2)})


def test_refuses_positions_from_the_limit_on():
    mla = MultiHeadLatentAttention(replace(LATENT, position_limit=8))
    h = torch.zeros(1, 4, 24)
    mla(h, positions=[4, 5, 6, 7])
    beyond = [5, 6, 7, 8]
    for call in (mla, mla.forward_absorbed, mla.compress):
        with pytest.raises(ValueError, match=r"positions reach 8, .* position_limit \(8\)"):
            call(h, positions=beyond)
    _, cache = mla.decode(h, LatentCache.empty(mla.config))
    _, cache = mla.decode(h, cache)
    with pytest.raises(ValueError, match="positions reach 8"):
        mla.decode(h[:, :1], cache)
    with pytest.raises(ValueError, match="position_limit"):
        replace(LATENT, position_limit=0)
