"""All layers of a real model, or all heads of one, piece after piece, each of which takes a moment.

How far memory reaches is told from headers, and a bar shows how much is done.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mla_engine.config import AttentionConfig
from ui.engine import shared_cache
from ui.parts.maps.run import block_of_heads
from ui.sources import Checkpoint, checkpoint, whole
from ui.streamlit_internals import DeltaGenerator

FEWEST_HEADS = 16  # of a block: each reads the layer again


@dataclass(frozen=True)
class Reach:
    """The number of layers whose inputs can be had here, and the next one's size."""

    layers: int
    read_bytes: int  # to have their inputs
    next_bytes: int | None  # in memory; None where every layer is within reach


def reach(loaded: Checkpoint, limit: int) -> Reach:
    """Return how far the inputs fit a budget of `limit` bytes: they are those of the first layers.

    Raises:
        CheckpointError: as `checkpoint.inputs`.
    """
    if whole.held(checkpoint.place(loaded).folder):
        return Reach(checkpoint.plan(loaded).n_layers, 0, None)
    return _reach(loaded, limit)


@shared_cache.cached
def _reach(loaded: Checkpoint, limit: int) -> Reach:
    last = checkpoint.plan(loaded).n_layers
    found = checkpoint.needed(replace(loaded, layer=0))
    for layer in range(1, last):
        deeper = checkpoint.needed(replace(loaded, layer=layer))
        if deeper.memory_bytes > limit:
            return Reach(layer, found.read_bytes, deeper.memory_bytes)
        found = deeper
    return Reach(last, found.read_bytes, None)


def blocks(config: AttentionConfig, tokens: int) -> list[tuple[int, ...]]:
    """Return all heads of a layer in blocks that take a moment each."""
    size = max(len(block_of_heads(config, tokens, 0, 0)), FEWEST_HEADS)
    return [
        tuple(range(first, min(first + size, config.n_heads)))
        for first in range(0, config.n_heads, size)
    ]


def with_bar(pieces: Iterator, place: DeltaGenerator, told: str) -> Iterator:
    """Yield the results of (result, share done), with a bar at `place` from the second on."""
    for result, done in pieces:
        if done < 1:
            place.progress(done, told)
        yield result
    place.empty()
