"""Rotations against complex products, closed forms and the published bounds of YaRN's ramp."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import RopeConfig, YarnConfig
from mla_engine.config import LinearScaling, Llama3Scaling, LongRopeScaling
from mla_engine.rope import inverse_frequencies, rotate, rotation, yarn_bounds
from tests import reference_rope
from tests.engine.samples import hidden, rotations
from tests.sampling import many

DEEPSEEK = YarnConfig(
    factor=40, original_max_position=4096, beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=1.0
)
KIMI = YarnConfig(
    factor=32, original_max_position=4096, beta_fast=1, beta_slow=1, mscale=1.0, mscale_all_dim=1.0
)
PAIRINGS = ("interleaved", "half")


@settings(max_examples=many(60, 200))
@given(data=st.data(), width=st.sampled_from([2, 4, 8, 64]), position=st.integers(0, 300))
def test_turns_every_pair_as_a_complex_number(data, width, position):
    rope = data.draw(rotations(width))
    x = hidden(1, 1, width)[0, 0]
    cos, sin = rotation(rope, width, torch.tensor([position]))
    got = rotate(x, cos[0], sin[0], rope.pairing)
    wanted = reference_rope.rotate(rope, x.numpy(), position, position + 1)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "scaling",
    [
        None,
        DEEPSEEK,
        KIMI,
        YarnConfig(factor=32, original_max_position=4096, truncate=False),
        LinearScaling(factor=8.0),
        Llama3Scaling(factor=8.0, original_max_position=8192),
        LongRopeScaling(
            short_factor=(1.0,) * 32,
            long_factor=tuple(1.0 + i for i in range(32)),
            original_max_position=100,
        ),
    ],
    ids=lambda scaling: type(scaling).__name__,
)
@pytest.mark.parametrize("length", [1, 100, 101])
def test_frequencies(scaling, length):
    rope = RopeConfig(theta=50000.0, scaling=scaling)
    got = inverse_frequencies(rope, 64, length)
    assert got.dtype == torch.float64
    wanted = [reference_rope.frequency(rope, 64, i, length) for i in range(32)]
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-14)


@pytest.mark.parametrize(
    ("theta", "scaling", "bounds"), [(10000.0, DEEPSEEK, (10, 23)), (50000.0, KIMI, (19, 20))]
)
def test_the_ramp_of_published_models(theta, scaling, bounds):
    """Pairs up to the lower bound are kept, from the upper one on divided, between them linear."""
    assert yarn_bounds(theta, 64, scaling) == bounds
    plain = inverse_frequencies(RopeConfig(theta=theta), 64)
    kept = inverse_frequencies(RopeConfig(theta=theta, scaling=scaling), 64) / plain
    low, high = bounds
    divided = ((torch.arange(32).double() - low) / (high - low)).clamp(0, 1)
    torch.testing.assert_close(kept, 1 - divided * (1 - 1 / scaling.factor), rtol=1e-14, atol=0)


def test_angles_stay_exact_at_position_one_million():
    """Float32 angles would be off by 0.06 here."""
    cos, _ = rotation(RopeConfig(), 64, torch.tensor([1_000_003]))
    wanted = [math.cos(1_000_003 * 10000.0 ** (-2 * i / 64)) for i in range(32)]
    np.testing.assert_allclose(cos[0].numpy(), wanted, atol=1e-9)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rotates_in_float32_or_wider_and_returns_the_dtype(pairing, dtype):
    x = hidden(1, 3, 8, dtype=dtype)
    cos, sin = rotation(RopeConfig(), 8, torch.arange(100, 103))
    got = rotate(x, cos, sin, pairing)
    exact = rotate(x.double(), cos, sin, pairing)
    assert got.dtype == dtype
    torch.testing.assert_close(
        got.double(), exact, rtol=torch.finfo(dtype).eps, atol=3e-7 if dtype != torch.float64 else 0
    )
