"""Torch's own attention: the same as the trace's, by the fastest backend that takes the call."""

import pytest
import torch
from torch.nn.attention import SDPBackend

from mla_engine import LatentConfig, MultiHeadLatentAttention, ops
from mla_engine.latent import forms
from tests.engine.samples import hidden, relative

WIDE = LatentConfig(d_model=64, n_heads=2, d_head=128, d_latent_kv=32, d_rope=64, d_value=128)


def test_the_fastest_backend_that_takes_the_call_is_chosen(monkeypatch):
    """On a GPU without cuDNN's, torch says what it would take of those that are switched on."""
    asked = []

    def choice(*_):
        asked.append(set(torch.nn.attention._cur_sdpa_kernel_backends()))
        takes = asked[-1] & {SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH}
        return min(takes, key=ops.FASTEST.index, default=SDPBackend.ERROR).value

    monkeypatch.setattr(torch, "_fused_sdp_choice", choice)
    assert ops.fastest_backend(*[torch.zeros(1)] * 3, {}) is SDPBackend.EFFICIENT_ATTENTION
    assert asked == [{one} for one in ops.FASTEST[:3]]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_on_a_gpu_keys_of_192_and_values_of_128_do_not_fall_back_to_plain_products(
    dtype, monkeypatch
):
    chosen, fastest = [], ops.fastest_backend
    monkeypatch.setattr(
        ops, "fastest_backend", lambda *call: chosen.append(fastest(*call)) or chosen[-1]
    )
    layer = MultiHeadLatentAttention(WIDE, dtype=dtype, device="cuda")
    h = hidden(1, 256, WIDE.d_model, dtype=dtype).cuda()
    u = forms.fused(layer, h, torch.arange(256, device="cuda"))
    assert len(chosen) == 1
    assert chosen[0] is not SDPBackend.MATH
    assert relative(u.double(), layer(h).u.double()) < 0.02
