"""A layer made of given weights, or of some heads of another; positions that are refused."""

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
from mla_engine.heads import with_heads
from tests.engine.samples import randomized
from tests.refusals import refusing

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


@torch.no_grad()
def test_another_dtype_and_no_latent_norms():
    whole = randomized(MultiHeadLatentAttention(LATENT, seed=3, dtype=torch.float64))
    plain = with_heads(whole, None, replace(LATENT, latent_norm=False), torch.bfloat16)
    assert {p.dtype for p in plain.parameters()} == {torch.bfloat16}
    assert "c_KV_norm" in dict(whole.named_parameters())
    assert "c_KV_norm" not in dict(plain.named_parameters())
    assert torch.equal(plain.W_UK, whole.W_UK.to(torch.bfloat16))


def test_refuses_a_configuration_that_the_weights_are_not_of():
    whole = MultiHeadLatentAttention(LATENT)
    with refusing("weight_shape", name="W_DKV", wanted="[7, 24]", given="[8, 24]"):
        with_heads(whole, None, replace(LATENT, d_latent_kv=7))
