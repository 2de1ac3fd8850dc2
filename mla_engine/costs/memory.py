"""The memory of GPUs: the share of weights and cache that each of them holds.

Under tensor parallelism every rank computes some heads of every sequence. Keys and values go with
their heads, down to one KV head a rank, and so do states; what serves all heads, a latent or a
window and entries, each rank needs whole. A mechanism's closed forms say which by what they count
for some heads. Data-parallel attention gives each rank whole sequences and all attention weights.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mla_engine import checks, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs.sizes import cache_elements, fixed_bytes, held_bytes, parameters
from mla_engine.refusals import RefusedError
from mla_engine.sharing import (
    MOST,
    largest_batch,
    longest_context,
    parameters_each,
    sequences_each,
)

ATTENTION = ("tensor", "data")


def rank_heads(config: AttentionConfig, ranks: int) -> range:
    """Return the heads of the fullest of `ranks` that split them.

    Raises:
        ValueError: more ranks than heads.
    """
    checks.whole("ranks", ranks)
    if ranks > config.n_heads:
        raise RefusedError("ranks", ranks=ranks, n_heads=config.n_heads)
    return range(-(-config.n_heads // ranks))


def rank_cache_elements(config: AttentionConfig, ranks: int, cache: str | None = None) -> float:
    """Return the numbers per token and layer on the fullest of `ranks` that split the heads.

    Args:
        config: the layer.
        ranks: GPUs under tensor parallelism.
        cache: "latent" or "kv" as in `cache_elements`.

    Raises:
        ValueError: more ranks than heads, or a cache that the layer cannot have.
    """
    return cache_elements(config, cache, rank_heads(config, ranks))


def layouts(config: AttentionConfig) -> dict[str, dict[str, float]]:
    """Numbers per token and layer of every way to lay out the cache, by part; its own is the last.

    Raises:
        ValueError: a config whose cache is laid out in only one way.
    """
    laid_out = mechanisms.of(config).costs.layouts
    if laid_out is None:
        wanted = mechanisms.types_in_words(lambda one: one.costs.layouts)
        raise RefusedError("kind", name="config", value=config, wanted=wanted)
    return laid_out(config)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """A model on several GPUs of one kind, where nothing but weights and cache takes memory.

    Attributes:
        config: its attention layer.
        caches: how many such layers keep a cache.
        total_parameters: of the whole model; 0 leaves the weights out.
        gpu_bytes: memory of one GPU.
        ranks: how many GPUs.
        attention: "tensor" (heads are split) or "data" (sequences are dealt out).
        weight_bytes: of one parameter.
        cache_bytes: of one cached number.
        cache: "latent" or "kv" as in `cache_elements`.
        beside: the model's other kinds of attention, each with its number; they keep their own.

    Raises:
        ValueError: an argument that does not fit, named with its value.
    """

    config: AttentionConfig
    caches: int
    total_parameters: float
    gpu_bytes: float
    ranks: int = 1
    attention: str = "tensor"
    weight_bytes: float = 2
    cache_bytes: float = 2
    cache: str | None = None
    beside: tuple[tuple[AttentionConfig, int], ...] = ()

    def __post_init__(self) -> None:
        for _, caches in self.kinds:
            checks.whole("caches", caches)
        checks.non_negative("total_parameters", self.total_parameters)
        checks.positive("gpu_bytes", self.gpu_bytes)
        checks.whole("ranks", self.ranks)
        checks.choice("attention", self.attention, ATTENTION)
        checks.positive("weight_bytes", self.weight_bytes)
        checks.positive("cache_bytes", self.cache_bytes)
        if self.attention == "tensor":
            for config, _ in self.kinds:
                rank_cache_elements(config, self.ranks, self._cache_of(config))

    @property
    def kinds(self) -> tuple[tuple[AttentionConfig, int], ...]:
        """Every kind of attention, and how many of it keep a cache."""
        return (self.config, self.caches), *self.beside

    @property
    def groups(self) -> int:
        """Groups of GPUs that have sequences of their own."""
        return 1 if self.attention == "tensor" else self.ranks

    @property
    def rank_weight_bytes(self) -> float:
        """Weights on each GPU: split evenly, but for attention's under data parallelism."""
        attention = sum(n * parameters(config) for config, n in self.kinds)
        each = parameters_each(self.total_parameters, attention, self.ranks, self.groups)
        return each * self.weight_bytes

    @property
    def free_bytes(self) -> float:
        """The room that the weights leave of each GPU; below 0 where they do not fit."""
        return self.gpu_bytes - self.rank_weight_bytes

    def heads_of(self, config: AttentionConfig) -> range | None:
        """Return the heads of a kind of attention that the fullest GPU computes; None for all."""
        return None if self.attention == "data" else rank_heads(config, self.ranks)

    @property
    def token_bytes(self) -> float:
        """The cache of one token of one sequence, on each GPU that keeps it, over all layers."""
        return self._over_layers(cache_elements) * self.cache_bytes

    @property
    def sequence_bytes(self) -> float:
        """The cache of one sequence, of any length, on each GPU that keeps it, over all layers.

        The most that it is while the sequence grows, where some of it comes and goes.
        """
        return self._over_layers(partial(fixed_bytes, dtype_bytes=self.cache_bytes))

    def rank_sequences(self, batch: int) -> int:
        """Return the sequences of `batch` that the fullest GPU keeps, wholly or in part."""
        checks.whole("batch", batch, most=MOST)
        return sequences_each(batch, self.groups)

    def held_bytes(self, context: int, batch: int = 1) -> float:
        """Return the cache on the fullest GPU: `batch` sequences of `context` tokens."""
        checks.whole("context", context, least=0, most=MOST)
        held = partial(held_bytes, tokens=context, dtype_bytes=self.cache_bytes)
        return self._over_layers(held) * self.rank_sequences(batch)

    def longest_context(self, batch: int = 1) -> int:
        """Tokens to which each of `batch` sequences can grow, at most MOST; 0 without room."""
        each, token, fixed = self.rank_sequences(batch), self.token_bytes, self.sequence_bytes
        found = longest_context(lambda tokens: (token * tokens + fixed) * each, self.free_bytes)
        return MOST if found is None else found

    def largest_batch(self, context: int) -> int:
        """Return the sequences that fit and can grow to `context` tokens; 0 if not one does."""
        checks.whole("context", context, most=MOST)
        kept = self.token_bytes * context + self.sequence_bytes
        return largest_batch(self.free_bytes, kept, self.groups)

    def _over_layers(self, count: Callable[..., float]) -> float:
        """Return what `count` says of a layer's cache on the fullest GPU, over all layers."""
        return sum(
            n * count(config, cache=self._cache_of(config), heads=self.heads_of(config))
            for config, n in self.kinds
        )

    def _cache_of(self, config: AttentionConfig) -> str | None:
        return self.cache if config is self.config else None
