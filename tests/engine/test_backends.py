"""Torch's own attention: named by what ran, and the same by each backend that takes it."""

import pytest
import torch
from torch.nn.attention import SDPBackend

from mla_engine import LatentConfig, MultiHeadLatentAttention, backends, timing
from mla_engine.ops import causal_mask
from tests.engine.kinds import MLA
from tests.engine.samples import hidden, relative

WIDE = LatentConfig(d_model=64, n_heads=2, d_head=128, d_latent_kv=32, d_rope=64, d_value=128)


def normal(*shape):
    return torch.randn(shape, generator=torch.manual_seed(0))


def test_on_the_cpu_it_is_named_and_equals_the_trace():
    layer = MultiHeadLatentAttention(WIDE)
    h = hidden(1, 9, WIDE.d_model, dtype=torch.float32)
    run, name = timing.untraced(layer, h)
    assert name in {one.name.lower() for one in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH)}
    assert relative(run(), layer(h).u) < 1e-5


def test_what_ran_is_counted_inside_the_block_alone():
    layer = timing.layer_of_zeros(MLA)
    h = hidden(1, 5, MLA.d_model, dtype=torch.float32)
    with backends.watched() as names:
        run, _ = timing.untraced(layer, h)  # which watches for itself
        run()
    run()
    assert len(names) == 1


def test_only_the_backend_that_ran_is_named():
    q, k, v = normal(1, 2, 6, 192), normal(1, 2, 6, 192), normal(1, 2, 6, 128)
    mask = causal_mask(6, 6)
    with backends.watched() as names:
        free = backends.attention(q, k, v, mask, 0.1)
        with backends.sdpa_kernel(SDPBackend.MATH):
            by_math = backends.attention(q, k, v, mask, 0.1)
    assert names[-1] == "math"
    torch.testing.assert_close(free, by_math)


def test_the_first_backend_that_takes_the_call_is_chosen(monkeypatch):
    """As a GPU without cuDNN's: torch says what it would take of those that are switched on."""
    asked = []

    def choice(*_):
        asked.append(set(backends.torch.nn.attention._cur_sdpa_kernel_backends()))
        takes = asked[-1] & {SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH}
        return min(takes, key=backends.FASTEST.index, default=SDPBackend.ERROR)

    monkeypatch.setattr(backends, "_choice", choice)
    assert backends._first(*[normal(1)] * 3, {}) is SDPBackend.EFFICIENT_ATTENTION
    assert asked == [{one} for one in backends.FASTEST[:3]]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_on_a_gpu_keys_of_192_and_values_of_128_do_not_fall_back_to_plain_products(dtype):
    layer = MultiHeadLatentAttention(WIDE, dtype=dtype, device="cuda")
    h = hidden(1, 256, WIDE.d_model, dtype=dtype).cuda()
    run, name = timing.untraced(layer, h)
    assert name
    assert name != "math"
    assert relative(run().double(), layer(h).u.double()) < 0.02
