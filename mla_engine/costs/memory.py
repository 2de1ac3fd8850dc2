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


def layouts(config: AttentionConfig) -> dict[str, dict[str, float]]:
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

    def __post_init__(self) -> None:
        checks.whole("caches", self.caches)
        checks.non_negative("total_parameters", self.total_parameters)
        checks.positive("gpu_bytes", self.gpu_bytes)
        checks.whole("ranks", self.ranks)
        checks.choice("attention", self.attention, ATTENTION)
        checks.positive("weight_bytes", self.weight_bytes)
        checks.positive("cache_bytes", self.cache_bytes)
        if self.attention == "tensor":
            rank_cache_elements(self.config, self.ranks, self.cache)

    @property
    def rank_weight_bytes(self) -> float:
        """Weights on each GPU: split evenly, but for attention's under data parallelism."""
        total = self.total_parameters
        whole = 0
        if self.attention == "data" and total:
            whole = min(total, self.caches * parameters(self.config))
        return (whole + (total - whole) / self.ranks) * self.weight_bytes

    @property
    def free_bytes(self) -> float:
        """What the weights leave of each GPU; below 0 where they do not fit."""
        return self.gpu_bytes - self.rank_weight_bytes

    @property
    def token_bytes(self) -> float:
        """Of one token of one sequence, on each GPU that keeps it, over all layers."""
        if self.attention == "data":
            elements = cache_elements(self.config, self.cache)
        else:
            elements = rank_cache_elements(self.config, self.ranks, self.cache)
        return elements * self.caches * self.cache_bytes

    @property
    def sequence_bytes(self) -> float:
        """Of one sequence, whatever its length, on each GPU that keeps it, over all layers.

        What is kept of each head is split with the heads, what they share is not.
        """
        heads, kind = self.config.n_heads, kind_of_cache(self.config, self.cache)
        split = self.attention == "tensor" and mechanisms.of(self.config).cache(kind).per_head
        share = -(-heads // self.ranks) / heads if split else 1
        return share * self.caches * fixed_bytes(self.config, self.cache_bytes, self.cache)

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
