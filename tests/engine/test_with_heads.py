"""Some heads of a layer, against the slices of the whole layer's run."""

from dataclasses import replace

import pytest
import torch

from mla_engine import MultiHeadLatentAttention
from mla_engine.heads import with_heads
from tests.engine.samples import randomized
from tests.engine.test_of_weights import LATENT


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
