"""Some heads of a layer, against the slices of the whole layer's run."""

from dataclasses import replace

import pytest
import torch

from mla_engine import MultiHeadLatentAttention
from mla_engine.heads import with_heads
from tests.engine.samples import hidden, randomized
from tests.engine.test_of_weights import LATENT, LAYERS


@LAYERS
@torch.no_grad()
def test_some_heads_run_as_in_the_whole_layer(layer_type, config):
    whole = randomized(layer_type(config, seed=3, dtype=torch.float64))
    h = hidden(2, 5, 24)
    some, wanted = with_heads(whole, (3, 0)), whole(h, heads=(3, 0))
    found = some(h)
    assert some.heads == (3, 0)
    for step in wanted.steps:
        torch.testing.assert_close(
            getattr(found, step), getattr(wanted, step), rtol=1e-12, atol=1e-14
        )


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
    with pytest.raises(
        ValueError, match=r"W_DKV: the layer has \[7, 24\], the weights given \[8, 24\]"
    ):
        with_heads(whole, None, replace(LATENT, d_latent_kv=7))
