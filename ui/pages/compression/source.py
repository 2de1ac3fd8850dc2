"""A layer's keys and values, factored, and what a latent in their place loses."""

from dataclasses import dataclass, replace

import torch

from mla_engine import GroupedConfig, GroupedQueryAttention, MultiHeadLatentAttention
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.studies.compression import (
    Joint,
    Loss,
    Separate,
    joint,
    loss,
    separate,
    with_spectrum,
)
from mla_engine.studies.merging import content_attention, content_config
from ui.engine import queue, shared_cache
from ui.pages.compression import answers
from ui.sources import Checkpoint, Drawn, Trained, layers, work

WAYS = ("joint", "separate")
POINTS = 16  # of the curves, beside the chosen rank and those where the joint error ends
PORTION = 4  # of them that are run one after the other, before the progress is shown


@dataclass(frozen=True)
class Source:
    """The origin of a layer's weights; `decay` None leaves them as they are.

    The heads are whole groups that share a KV head. What they read is `inputs`, a real layer's, or
    what the origin of the weights goes with. Of an MLA's `config` it is what its latents stand for.
    """

    config: AttentionConfig
    origin: Drawn | Trained | Checkpoint
    heads: tuple[int, ...]
    decay: float | None
    inputs: Checkpoint | None = None

    @property
    def grouped(self) -> GroupedConfig:
        """The layer whose keys and values are compressed."""
        own = self.config
        return content_config(own) if own.has_latent else own

    def with_heads(self, n_kv_heads: int) -> "Source":
        """Return it with the first heads that share so many keys and values."""
        return replace(self, heads=tuple(range(n_kv_heads * self.grouped.group_size)))

    @property
    def n_kv_heads(self) -> int:
        """Heads with keys and values of their own, of those compressed."""
        return len(self.heads) // self.grouped.group_size

    @property
    def full(self) -> int:
        """Numbers that these heads cache per token without compression."""
        return self.n_kv_heads * (self.grouped.d_head + self.grouped.d_value)

    @property
    def weights(self) -> "Source":
        """This layer without its inputs, as its weights go with any text."""
        real = isinstance(self.origin, Checkpoint)
        return replace(self, inputs=None, origin=self.origin.weights if real else self.origin)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A layer and the factors of its keys' and values' weights."""

    layer: GroupedQueryAttention
    ways: dict[str, Joint | Separate]


def prepared(source: Source) -> Prepared:
    """Return the layer with the chosen spectrum, its weights factored.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    work.require(preparing(source), work.SMALLER_LAYER)
    return _prepared(source.weights)


def preparing(source: Source) -> int:
    """Count operations of drawing the weights, giving them their spectrum, and factoring them.

    Raises:
        CostError: even one decomposition takes too long.
    """
    config, n_kv_heads = source.grouped, source.n_kv_heads
    widths = (config.d_head + config.d_value, config.d_head, config.d_value)
    factored = [work.factoring(n_kv_heads * width, config.d_model) for width in widths]
    given = 2 * factored[0] if source.decay is not None else 0  # factored before, and multiplied
    return sum(factored) + given + work.drawing(config, source.heads, source.origin)


@shared_cache.cached
def _prepared(source: Source) -> Prepared:
    config, of, heads = source.config, source.origin, source.heads
    outside = isinstance(of, Checkpoint)  # a worker reads it, before the turn
    read = of.attention(config, heads, torch.float32) if outside else None
    with queue.turn(), torch.inference_mode():
        layer = _grouped(read or layers.built(config, of, heads, torch.float32))
        if source.decay is not None:
            W_K, W_V = with_spectrum(layer.W_K, layer.W_V, source.decay)
            layer.W_K.copy_(W_K)
            layer.W_V.copy_(W_V)
        found = joint(layer.W_K, layer.W_V), separate(layer.W_K, layer.W_V)
    return Prepared(layer, dict(zip(WAYS, found, strict=True)))


def _grouped(layer: AttentionLayer) -> GroupedQueryAttention:
    """Return the layer itself; of an MLA what its latents stand for."""
    return content_attention(layer) if isinstance(layer, MultiHeadLatentAttention) else layer


def entering(source: Source, words: tuple[str, ...]) -> torch.Tensor:
    """Return what enters the layer, h [b,t,d]: of a trained one fresh texts, else these words."""
    if isinstance(source.origin, Trained):
        return answers.entering(source.origin)
    return (source.inputs or source.origin).hidden(words, source.config.d_model)


def lost(source: Source, words: tuple[str, ...], way: str, ranks: tuple[int, ...]) -> list[Loss]:
    """Return what latents of these sizes lose on these words; beyond full rank nothing.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    work.require(losing(source, len(words)), work.FEWER_WORDS)
    return _lost(source, words, way, ranks)


def losing(source: Source, tokens: int) -> int:
    """Count operations of preparing, and of the runs of the layer itself and with each latent.

    Raises:
        CostError: even one decomposition takes too long.
    """
    run = work.running(source.grouped, "grouped", tokens, source.heads)
    return preparing(source) + len(WAYS) * (POINTS + POINTS // PORTION) * run


@shared_cache.cached(anywhere=True)
def _lost(source: Source, words: tuple[str, ...], way: str, ranks: tuple[int, ...]) -> list[Loss]:
    ready = prepared(source)
    factors = ready.ways[way]
    h = entering(source, words)
    with queue.turn(), torch.inference_mode():
        return loss(ready.layer, h, factors, [min(rank, factors.most) for rank in ranks])
