"""The memory of GPUs: the share of weights and cache that each of them holds.

Under tensor parallelism every rank computes some heads of every sequence. Keys and values go with
their heads, down to one KV head a rank, and so do states; what serves all heads, a latent or a
window and entries, each rank needs whole. A part of a cache says which by its heads. Data-parallel
attention gives each rank whole sequences and all attention weights.
"""

from dataclasses import dataclass
from fractions import Fraction

from kvcount import checks
from kvcount.counting import Placing, number
from kvcount.dtypes import Storage
from kvcount.parts import Model
from kvcount.refusals import RefusedError
from kvcount.sharing import MOST, largest_batch
from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs.sizes import cache_elements

ATTENTION = ("tensor", "data")
BF16 = Storage()


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
        model: what its layers keep, as `PRESETS["..."].model` or `costs.model` have it.
        total_parameters: of the whole model, 0 for the cache alone.
        gpu_bytes: memory of one GPU.
        ranks: GPUs that share it.
        attention: "tensor" splits the heads, "data" the sequences.
        weight_bytes: of one parameter.
        storage: the types of the cache's parts.

    Raises:
        ValueError: an argument that does not fit, named with its value.
    """

    model: Model
    total_parameters: float
    gpu_bytes: float
    ranks: int = 1
    attention: str = "tensor"
    weight_bytes: float = 2
    storage: Storage = BF16

    def __post_init__(self) -> None:
        checks.non_negative("total_parameters", self.total_parameters)
        checks.positive("gpu_bytes", self.gpu_bytes)
        checks.whole("ranks", self.ranks)
        checks.choice("attention", self.attention, ATTENTION)
        checks.positive("weight_bytes", self.weight_bytes)
        if self.attention == "tensor" and self.ranks > self.model.n_heads:
            raise RefusedError("ranks", ranks=self.ranks, n_heads=self.model.n_heads)

    @property
    def groups(self) -> int:
        """Groups of GPUs that have sequences of their own."""
        return 1 if self.attention == "tensor" else self.ranks

    def placing(self, batch: int = 1) -> Placing:
        """Return the cache of so many sequences on these GPUs."""
        of_gpus = {"gpus": self.ranks, "data": self.groups}
        return Placing(model=self.model, storage=self.storage, batch=batch, **of_gpus)

    @property
    def rank_weight_bytes(self) -> float:
        """Weights on each GPU: split evenly, but for attention's under data parallelism."""
        return float(self.placing().rank_parameters(self.total_parameters)) * self.weight_bytes

    @property
    def free_bytes(self) -> float:
        """The room that the weights leave of each GPU; below 0 where they do not fit."""
        return self.gpu_bytes - self.rank_weight_bytes

    @property
    def token_bytes(self) -> float:
        """The bytes that each further token adds, over all layers, on each GPU that keeps it."""
        return number(self.placing().token_bytes())

    def rank_sequences(self, batch: int) -> int:
        """Return the sequences of `batch` that the fullest GPU keeps, wholly or in part."""
        return self.placing(batch).sequences

    def held_bytes(self, context: int, batch: int = 1) -> float:
        """Return the cache on the fullest GPU: `batch` sequences of `context` tokens."""
        checks.whole("context", context, least=0, most=MOST)
        return number(self.placing(batch).held_bytes(context))

    def longest_context(self, batch: int = 1) -> int:
        """Tokens to which each of `batch` sequences can grow, at most MOST; 0 without room."""
        found = self.placing(batch).longest_context(self.gpu_bytes, self.rank_weight_bytes)
        return MOST if found is None else max(found, 0)

    def largest_batch(self, context: int) -> int:
        """Return the sequences that fit and can grow to `context` tokens; 0 if not one does."""
        checks.whole("context", context, most=MOST)
        kept = self.placing().most_bytes(context)
        return largest_batch(Fraction(self.free_bytes), kept, self.groups)
