"""Rotary position embedding: pair i of a vector at position p turns by the angle p * w_i.

Frequencies and angles are made in float64 and cast afterwards: float32 angles are off by 3e-4 at
position 100,000. The two pairings give the same scores when queries and keys agree, and a wrong
map without any error when they do not.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from mla_engine.config import LinearScaling, Llama3Scaling, LongRopeScaling, RopeConfig, YarnConfig

__all__ = [
    "Turn",
    "inverse_frequencies",
    "llama3_frequencies",
    "per_head",
    "rotate",
    "rotation",
    "yarn_bounds",
    "yarn_frequencies",
]

Turn = tuple[Tensor, Tensor]
"""Cosines and sines, as `rotation` returns them."""


def inverse_frequencies(rope: RopeConfig, width: int, length: int | Tensor = 1) -> Tensor:
    """Return the angle by which each pair turns per position, w_i = theta^(-2i/r), after scaling.

    Args:
        rope: the rotation.
        width: r, the number of rotated dimensions (even).
        length: positions in use; LongRoPE changes its factors beyond the original context.

    Returns:
        float64 [r/2], radians per position.
    """
    rope.check_width("width", width)
    exponents = torch.arange(0, width, 2, dtype=torch.float64, device="cpu") / width
    plain = rope.theta**-exponents
    match rope.scaling:
        case LinearScaling(factor=factor):
            return plain / factor
        case Llama3Scaling() as scaling:
            return llama3_frequencies(plain, scaling)
        case LongRopeScaling() as scaling:
            sets = torch.tensor((scaling.long_factor, scaling.short_factor), dtype=torch.float64)
            beyond = torch.as_tensor(length > scaling.original_max_position)
            return plain / torch.where(beyond, *sets)
        case YarnConfig() as scaling:
            return yarn_frequencies(plain, rope.theta, scaling)
    return plain


def llama3_frequencies(plain: Tensor, scaling: Llama3Scaling) -> Tensor:
    """Keep pairs that turn more than high_freq_factor times in the original context."""
    turns = scaling.original_max_position * plain / (2 * math.pi)
    kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    kept = kept.clamp(0, 1)
    return kept * plain + (1 - kept) * plain / scaling.factor


def yarn_frequencies(plain: Tensor, theta: float, scaling: YarnConfig) -> Tensor:
    """Keep pairs that turn beta_fast times in the original context, divide those below beta_slow.

    Between the two the share that is kept falls linearly with the pair's index (YaRN, section 3.2).
    """
    pairs = len(plain)
    low, high = yarn_bounds(theta, 2 * pairs, scaling)
    ramp = (torch.arange(pairs, dtype=torch.float64) - low) / (high - low)
    interpolated = ramp.clamp(0, 1)
    return interpolated * plain / scaling.factor + (1 - interpolated) * plain


def yarn_bounds(theta: float, width: int, scaling: YarnConfig) -> tuple[float, float]:
    """Return the pairs between which YaRN's ramp runs: DeepSeek-V3 (10, 23), Kimi-K2 (19, 20)."""

    def pair_that_turns(times: float) -> float:
        wavelength = scaling.original_max_position / (2 * math.pi * times)
        return width * math.log(wavelength) / (2 * math.log(theta))

    low, high = pair_that_turns(scaling.beta_fast), pair_that_turns(scaling.beta_slow)
    if scaling.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    return (
        low,
        high if high != low else high + 0.001,
    )  # a step, without a division by zero


@lru_cache(maxsize=256)
def _numbers(rope: RopeConfig, width: int, length: int) -> tuple[float, ...]:
    """Return the frequencies, kept for the next step of decoding; no counter sees them made."""
    with _disable_current_modes():
        return tuple(inverse_frequencies(rope, width, length).tolist())


def rotation(rope: RopeConfig, width: int, positions: Tensor) -> Turn:
    """Return the cosines and sines of every angle, times the magnitude that the scaling asks for.

    Args:
        rope: the rotation.
        width: r, the number of rotated dimensions.
        positions: int64 [..., t], on the CPU: all of a call, LongRoPE goes by the largest.

    Returns:
        cos and sin, float64 [..., t, r/2].
    """
    length = positions.max() + 1 if isinstance(rope.scaling, LongRopeScaling) else 1
    if torch.compiler.is_compiling():
        frequencies = inverse_frequencies(rope, width, length)
    else:
        frequencies = torch.tensor(_numbers(rope, width, int(length)), dtype=torch.float64)
    angles = positions.double().unsqueeze(-1) * frequencies
    magnitude = rope.scaling.rotation_magnitude if rope.scaling else 1.0
    return angles.cos() * magnitude, angles.sin() * magnitude


def per_head(turn: Turn | None, rows: slice = slice(None)) -> Turn | None:
    """Return the turn for vectors [..., t, h, r], of the chosen rows of t."""
    return turn and (turn[0][..., rows, None, :], turn[1][..., rows, None, :])


def rotate(x: Tensor, cos: Tensor, sin: Tensor, pairing: str) -> Tensor:
    """Turn every pair (a, b) into (a cos - b sin, a sin + b cos), each where its input was.

    Args:
        x: [..., r]; computed in max(float32, its dtype).
        cos: [..., r/2], broadcast against the pairs of x.
        sin: as cos.
        pairing: "interleaved" turns (x[2i], x[2i+1]), "half" turns (x[i], x[i + r/2]).

    Returns:
        [..., r] in the dtype of x.
    """
    pair_axis = -1 if pairing == "interleaved" else -2
    shape = (-1, 2) if pairing == "interleaved" else (2, -1)
    wide = torch.promote_types(x.dtype, torch.float32)
    a, b = x.to(wide).unflatten(-1, shape).unbind(pair_axis)
    cos, sin = cos.to(x.device, wide), sin.to(x.device, wide)
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=pair_axis)
    return turned.flatten(-2).to(x.dtype)
