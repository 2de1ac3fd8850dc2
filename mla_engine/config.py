"""The parts that all configurations share: rotation and scalings, checks of common sizes.

Configurations are frozen and validated: an invalid one cannot exist. Sizes are words; their
letters in the einsum strings are d (d_model), h (n_heads), g (n_kv_heads), k (d_head), r (d_rope),
v (d_value), c (d_latent_kv) and l (d_latent_q).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, fields, replace

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError, either, instance_of


@dataclass(frozen=True, kw_only=True)
class YarnConfig:
    """YaRN (arXiv 2309.00071): slow pairs are interpolated, fast ones kept, a ramp between.

    `mscale` stretches cos and sin, `mscale_all_dim` the softmax scale; DeepSeek sets both equal,
    so that only the softmax scale changes. `attention_factor` replaces the stretch of cos and sin.
    """

    factor: float
    original_max_position: int
    beta_fast: float = 32
    beta_slow: float = 1
    mscale: float = 1.0
    mscale_all_dim: float = 0.0
    truncate: bool = True
    attention_factor: float | None = None

    def __post_init__(self) -> None:
        for name in ("factor", "beta_fast", "beta_slow"):
            checks.positive(name, getattr(self, name))
        for name in ("mscale", "mscale_all_dim"):
            checks.non_negative(name, getattr(self, name))
        checks.whole("original_max_position", self.original_max_position, most=2**40)
        checks.flag("truncate", self.truncate)
        if self.attention_factor is not None:
            checks.positive("attention_factor", self.attention_factor)
        if self.beta_fast < self.beta_slow:
            raise RefusedError("betas", beta_fast=self.beta_fast, beta_slow=self.beta_slow)

    def magnitude(self, mscale: float) -> float:
        """Return m(x) = 0.1 x ln(factor) + 1, and 1 where nothing is stretched (factor <= 1)."""
        return 0.1 * mscale * math.log(self.factor) + 1.0 if self.factor > 1 else 1.0

    @property
    def rotation_magnitude(self) -> float:
        """The factor of cos and sin: m(mscale) / m(mscale_all_dim)."""
        if self.attention_factor is not None:
            return self.attention_factor
        return self.magnitude(self.mscale) / self.magnitude(self.mscale_all_dim)

    @property
    def softmax_magnitude(self) -> float:
        """The factor of the softmax scale: m(mscale_all_dim) squared."""
        return self.magnitude(self.mscale_all_dim) ** 2


@dataclass(frozen=True, kw_only=True)
class LinearScaling:
    """Position interpolation (arXiv 2306.15595): every frequency divided by `factor`."""

    factor: float
    original_max_position = 0  # which nobody says
    rotation_magnitude = 1.0
    softmax_magnitude = 1.0

    def __post_init__(self) -> None:
        checks.positive("factor", self.factor)


@dataclass(frozen=True, kw_only=True)
class Llama3Scaling:
    """Llama 3.1: wavelengths beyond original_max_position / low_freq_factor are divided."""

    factor: float
    original_max_position: int
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    rotation_magnitude = 1.0
    softmax_magnitude = 1.0

    def __post_init__(self) -> None:
        for name in ("factor", "low_freq_factor", "high_freq_factor"):
            checks.positive(name, getattr(self, name))
        checks.whole("original_max_position", self.original_max_position, most=2**40)
        if self.low_freq_factor >= self.high_freq_factor:
            raise RefusedError(
                "freq_factors",
                low_freq_factor=self.low_freq_factor,
                high_freq_factor=self.high_freq_factor,
            )


@dataclass(frozen=True, kw_only=True)
class LongRopeScaling:
    """LongRoPE (arXiv 2402.13753): one divisor a pair, another set beyond the original context.

    `factor` is the new context over the original one; it stretches cos and sin by
    sqrt(1 + ln(factor) / ln(original_max_position)) unless `attention_factor` says otherwise.
    """

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_max_position: int
    factor: float = 1.0
    attention_factor: float | None = None
    softmax_magnitude = 1.0

    def __post_init__(self) -> None:
        for name in ("short_factor", "long_factor"):
            checks.kind(name, getattr(self, name), tuple, Phrase("pair_numbers"))
            for i, value in enumerate(getattr(self, name)):
                checks.positive(f"{name}[{i}]", value)
        if len(self.short_factor) != len(self.long_factor):
            raise RefusedError(
                "factor_lengths", short=len(self.short_factor), long=len(self.long_factor)
            )
        checks.whole("original_max_position", self.original_max_position, least=2, most=2**40)
        checks.positive("factor", self.factor)
        if self.attention_factor is not None:
            checks.positive("attention_factor", self.attention_factor)

    def factors(self, length: int) -> str:
        """Name the set of factors for a call whose positions reach this length."""
        return "long" if length > self.original_max_position else "short"

    @property
    def rotation_magnitude(self) -> float:
        """The factor of cos and sin."""
        if self.attention_factor is not None:
            return self.attention_factor
        if self.factor <= 1:
            return 1.0
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original_max_position))


Scaling = YarnConfig | LinearScaling | Llama3Scaling | LongRopeScaling
SCALINGS: dict[str, type[Scaling]] = {
    "yarn": YarnConfig,
    "llama3": Llama3Scaling,
    "linear": LinearScaling,
    "longrope": LongRopeScaling,
}
PAIRINGS = ("interleaved", "half")


@dataclass(frozen=True, kw_only=True)
class RopeConfig:
    """Rotary position embedding (arXiv 2104.09864): pair i turns by position * theta^(-2i/r).

    `interleaved` pairs (x[2i], x[2i+1]), `half` pairs (x[i], x[i + r/2]).
    """

    theta: float = 10000.0
    pairing: str = "interleaved"
    scaling: Scaling | None = None

    def __post_init__(self) -> None:
        checks.positive("theta", self.theta)
        checks.choice("pairing", self.pairing, PAIRINGS)
        if self.scaling is not None:
            checks.kind("scaling", self.scaling, Scaling, Phrase("a_scaling"))
        if isinstance(self.scaling, YarnConfig) and self.theta <= 1:
            raise RefusedError("yarn_theta", theta=self.theta)

    @property
    def original_context(self) -> int:
        """The positions that the model began with; 0 where it does not say."""
        return self.scaling.original_max_position if self.scaling else 0

    @property
    def n_pairs(self) -> int | None:
        """The pairs that LongRoPE has a factor for each of; None where there may be any number."""
        is_long = isinstance(self.scaling, LongRopeScaling)
        return len(self.scaling.short_factor) if is_long else None

    def check_width(self, name: str, width: int) -> None:
        """Raise ValueError unless `width` splits into pairs, as many as LongRoPE has factors."""
        if width % 2:
            raise RefusedError("even", name=name, value=width, next=width + 1)
        if self.n_pairs is not None and 2 * self.n_pairs != width:
            raise RefusedError(
                "factor_count", name=name, width=width, wanted=width // 2, pairs=self.n_pairs
            )


def effective_scale(width: int, rope: RopeConfig | None, softmax_scale: float | None) -> float:
    """Return width^-1/2 times what the rotation's scaling asks for, unless a scale is given."""
    if softmax_scale is not None:
        return softmax_scale
    scaling = rope.scaling if rope else None
    return width**-0.5 * (scaling.softmax_magnitude if scaling else 1.0)


def without_scaling(rope: RopeConfig | None) -> RopeConfig | None:
    """Return the rotation without a scaling that was made for other widths."""
    return rope and replace(rope, scaling=None)


class AttentionConfig:
    """The questions that every configuration answers, whatever its mechanism.

    What a mechanism has not is None, 0 or False, as here. One that has it says so by a field, a
    property or a value of that name; a field that has to be given is `name: int = field()`, or the
    value here would be its default.
    """

    d_model: int
    n_heads: int
    d_head: int
    d_value: int
    rope: RopeConfig | None
    scale: float

    # sizes of a part
    n_kv_heads: int | None = None
    d_latent_kv: int | None = None
    d_latent_q: int | None = None  # None, too, where the queries are not compressed
    d_rope: int | None = None  # of a part that is rotated apart from the rest
    window: int | None = None  # tokens that a query sees one by one, itself among them
    sliding_window: int | None = None  # the same where it sees nothing else
    pooling: int | None = None  # tokens that become one; 0 of a layer that might have and has none
    index_topk: int | None = None  # what an indexer chooses for a query
    n_index_heads: int | None = None
    d_index: int | None = None
    logit_softcap: float | None = None
    position_limit: int | None = None  # the first position that is refused

    # of a whole mechanism
    in_full: bool = False  # whether each token has a key and a value, which can be kept
    has_latent: bool = False  # whether those are made of a latent
    has_entries: bool = False  # whether a query reads entries that pool tokens, beside a window
    chooses_keys: bool = False  # whether an indexer chooses among all keys
    has_blocks: bool = False  # whether it chooses them block by block
    reads_all: bool = False  # whether a query reads every key before it, but for a window's end
    has_state: bool = False  # whether a state is kept in the place of tokens
    sinks: bool = False  # whether a sink takes a part of each row of the attention
    can_slide: bool = False  # whether its query may see a sliding window alone

    @property
    def rotation(self) -> RopeConfig | None:
        """The rotation that takes place."""
        return self.rope

    @property
    def d_key(self) -> int:
        """The width of a query and a key."""
        return self.d_head

    @property
    def d_rotated_key(self) -> int:
        """The rotated dimensions of a query and a key."""
        return (self.d_rope or 0) if self.rope else 0

    def is_same(self, other: "AttentionConfig", *, but: Collection[str]) -> bool:
        """Tell whether the other is the same, whatever the fields in `but` say in it."""
        if type(self) is not type(other):
            return False
        said = {one.name: getattr(other, one.name) for one in fields(self) if one.name in but}
        return replace(self, **said) == other

    def size(self, name: str) -> int | None:
        """Return the size of this name; None where the mechanism has no such part."""
        return getattr(self, name, None)


class KeysInFull(AttentionConfig, ABC):
    """A configuration whose keys and values a KVCache can keep in full."""

    in_full = True

    @property
    @abstractmethod
    def kv_shape(self) -> tuple[int, int, int]:
        """KV heads, and the widths of the key and of the value that each of them keeps."""


def check_common(config: AttentionConfig, sizes: tuple[str, ...]) -> None:
    """Raise ValueError unless the heads, these sizes and the common options can be."""
    checks.whole("n_heads", config.n_heads, most=4096)
    for name in sizes:
        checks.whole(name, getattr(config, name))
    checks.positive("norm_eps", config.norm_eps)
    checks.flag("bias", config.bias)
    if config.softmax_scale is not None:
        checks.positive("softmax_scale", config.softmax_scale)
    if config.rope is not None:
        checks.kind("rope", config.rope, RopeConfig, either(instance_of(RopeConfig), None))
