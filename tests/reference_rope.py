"""The oracle's rotations, pair by pair as complex numbers (RoFormer, YaRN, LongRoPE, Llama 3.1)."""

import cmath
import math

import numpy as np


def yarn_magnitude(factor, mscale):
    """m(x) = 0.1 x ln(factor) + 1, and 1 without stretching."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


def _yarn_frequency(plain, theta, width, pair, yarn):
    def index_of(turns):
        """The pair whose wavelength fits `turns` times into the original context."""
        return (
            width
            * math.log(yarn.original_max_position / (turns * 2 * math.pi))
            / (2 * math.log(theta))
        )

    low, high = index_of(yarn.beta_fast), index_of(yarn.beta_slow)
    if yarn.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    high = high + 0.001 if low == high else high
    share = min(max((pair - low) / (high - low), 0.0), 1.0)
    return share * plain / yarn.factor + (1 - share) * plain


def _llama3_frequency(plain, llama3):
    wavelength = 2 * math.pi / plain
    long_wave = llama3.original_max_position / llama3.low_freq_factor
    short_wave = llama3.original_max_position / llama3.high_freq_factor
    if wavelength < short_wave:
        return plain
    if wavelength > long_wave:
        return plain / llama3.factor
    smooth = (llama3.original_max_position / wavelength - llama3.low_freq_factor) / (
        llama3.high_freq_factor - llama3.low_freq_factor
    )
    return (1 - smooth) * plain / llama3.factor + smooth * plain


def frequency(rope, width, pair, length=1):
    """Radians per position of one pair; `length` is the number of positions in use (LongRoPE)."""
    plain = rope.theta ** (-2 * pair / width)
    scaling = rope.scaling
    kind = type(scaling).__name__
    if kind == "YarnConfig":
        return _yarn_frequency(plain, rope.theta, width, pair, scaling)
    if kind == "Llama3Scaling":
        return _llama3_frequency(plain, scaling)
    if kind == "LinearScaling":
        return plain / scaling.factor
    if kind == "LongRopeScaling":
        beyond = length > scaling.original_max_position
        return plain / (scaling.long_factor if beyond else scaling.short_factor)[pair]
    return plain


def stretch(rope):
    """Return the factor of cos and sin."""
    scaling = rope.scaling
    kind = type(scaling).__name__
    if kind not in ("YarnConfig", "LongRopeScaling"):
        return 1.0
    if scaling.attention_factor is not None:
        return scaling.attention_factor
    if kind == "YarnConfig":
        return yarn_magnitude(scaling.factor, scaling.mscale) / yarn_magnitude(
            scaling.factor, scaling.mscale_all_dim
        )
    if scaling.factor <= 1:
        return 1.0
    return math.sqrt(1 + math.log(scaling.factor) / math.log(scaling.original_max_position))


def rotate(rope, x, position, length=1):
    """Each pair, as a complex number, turned by its angle; the result stays where the pair was."""
    y = np.array(x)
    half = len(x) // 2
    for i in range(half):
        a, b = (2 * i, 2 * i + 1) if rope.pairing == "interleaved" else (i, i + half)
        turn = cmath.rect(stretch(rope), position * frequency(rope, len(x), i, length))
        z = complex(x[a], x[b]) * turn
        y[a], y[b] = z.real, z.imag
    return y
