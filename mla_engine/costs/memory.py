"""What fits on GPUs: the share of weights and cache that each of them holds.

Under tensor parallelism every rank computes some heads of every sequence. Keys and values go with
their heads, down to one KV head a rank; the latents serve all heads, so each rank needs them whole.
Data-parallel attention gives each rank whole sequences and all attention weights instead.
"""

from dataclasses import dataclass

from mla_engine import checks, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs.sizes import (
    cache_elements,
    fixed_bytes,
    heads_held,
    kind_of_cache,
    parameters,
)
from mla_engine.refusals import RefusedError

ATTENTION = ("tensor", "data")
MOST = 2**50  # tokens or sequences: what fits may be far more than any layer is run with


def rank_cache_elements(config: AttentionConfig, ranks: int, cache: str | None = None) -> int:
    """Numbers per token and layer on the fullest of `ranks` that split the heads.

    Args:
        config: the layer.
        ranks: GPUs under tensor parallelism.
        cache: "latent" or "kv" as in `cache_elements`.

    Raises:
        ValueError: more ranks than heads, or a cache that the layer cannot have.
    """
    checks.whole("ranks", ranks)
    if ranks > config.n_heads:
        raise RefusedError("ranks", ranks=ranks, n_heads=config.n_heads)
    whole, kind = cache_elements(config, cache), kind_of_cache(config, cache)
    if not mechanisms.of(config).cache(kind).per_head:
        return whole
    n_kv_heads = heads_held(config, None)[1]
    return -(-n_kv_heads // ranks) * (whole // n_kv_heads)


def layouts(config: AttentionConfig) -> dict[str, dict[str, int]]:
    """Numbers per token and layer of every way to lay out the cache, by part.

    Raises:
        ValueError: a config whose cache is laid out in one way alone.
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

    def _cache_of(self, config: AttentionConfig) -> str | None:
        return self.cache if config is self.config else None

    @property
    def rank_weight_bytes(self) -> float:
        """Weights on each GPU: split evenly, but for attention's under data parallelism."""
        total = self.total_parameters
        whole = 0
        if self.attention == "data" and total:
            whole = min(total, sum(n * parameters(config) for config, n in self.kinds))
        return (whole + (total - whole) / self.ranks) * self.weight_bytes

    @property
    def free_bytes(self) -> float:
        """What the weights leave of each GPU; below 0 where they do not fit."""
        return self.gpu_bytes - self.rank_weight_bytes

    @property
    def token_bytes(self) -> float:
        """Of one token of one sequence, on each GPU that keeps it, over all layers."""
        return sum(n * self._elements(config) for config, n in self.kinds) * self.cache_bytes

    def _elements(self, config: AttentionConfig) -> float:
        if self.attention == "data":
            return cache_elements(config, self._cache_of(config))
        return rank_cache_elements(config, self.ranks, self._cache_of(config))

    @property
    def sequence_bytes(self) -> float:
        """Of one sequence, whatever its length, on each GPU that keeps it, over all layers."""
        return sum(n * self._fixed_bytes(config) for config, n in self.kinds)

    def _fixed_bytes(self, config: AttentionConfig) -> float:
        heads = config.n_heads
        share = 1 if self.attention == "data" else -(-heads // self.ranks) / heads
        return share * fixed_bytes(config, self.cache_bytes, self._cache_of(config))

    def rank_sequences(self, batch: int) -> int:
        """Sequences of `batch` that the fullest GPU keeps, wholly or in part."""
        checks.whole("batch", batch, most=MOST)
        return batch if self.attention == "tensor" else -(-batch // self.ranks)

    def held_bytes(self, context: int, batch: int = 1) -> float:
        """Cache on the fullest GPU: `batch` sequences of `context` tokens."""
        checks.whole("context", context, least=0, most=MOST)
        kept = self.token_bytes * context + self.sequence_bytes
        return kept * self.rank_sequences(batch)

    def longest_context(self, batch: int = 1) -> int:
        """Tokens to which each of `batch` sequences can grow, at most MOST; 0 without room."""
        room = max(0, self.free_bytes) - self.sequence_bytes * self.rank_sequences(batch)
        if not self.token_bytes:
            return MOST if room >= 0 < self.free_bytes else 0
        return int(max(0, room) // (self.token_bytes * self.rank_sequences(batch)))

    def largest_batch(self, context: int) -> int:
        """Sequences of `context` tokens that fit; 0 if not one does."""
        checks.whole("context", context, most=MOST)
        kept = self.token_bytes * context + self.sequence_bytes
        sequences = int(max(0, self.free_bytes) // kept)
        return sequences if self.attention == "tensor" else sequences * self.ranks
