"""One head over a text too long for its whole map: pooled block by block, any part of it exact.

The text is read as a server reads a long prompt, some tokens at a time: each chunk of queries
attends to the keys that are cached by then, so that memory grows with the text and not with its
square. Of each chunk's rows the largest share in every block is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine import mechanisms
from mla_engine.cache import Cache, KVCache
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer

__all__ = ["LongMap", "kept_in", "long_map", "rows"]

CHUNK = 256  # queries at a time
SIDE = 256  # blocks of the pooled map, at most

Hidden = Callable[[int, int], Tensor]
"""(first, last + 1) -> the hidden states of these tokens [1,t,d]."""


@dataclass(frozen=True, eq=False)
class LongMap:
    """The map of a head, by blocks of tokens.

    Args:
        largest: the largest share of each block of the map [t / block, s / block].
        block: tokens that one cell stands for, in either direction.
        cache: of all tokens, of this one head.
    """

    largest: Tensor
    block: int
    cache: Cache

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return self.cache.length


def kept_in(config: AttentionConfig) -> type[Cache]:
    """Return the cache of a long text: keys and values in full, or the mechanism's own."""
    caches = mechanisms.of(config).caches
    return KVCache if KVCache in caches else caches[0]


def long_map(
    layer: AttentionLayer,
    hidden: Hidden,
    tokens: int,
    told: Callable[[int], None] = lambda done: None,
) -> LongMap:
    """Read `tokens` tokens with a layer of one head.

    Args:
        layer: of one head.
        hidden: makes what enters it, for the tokens that are asked for.
        tokens: how many.
        told: hears how many are read, after each chunk.

    Raises:
        ValueError: a layer of more heads; as `decode`.
        MemoryBudgetError: the cache or a chunk is beyond the memory budget.
    """
    if len(layer.heads) != 1:
        raise RefusedError("one_head", built=len(layer.heads))
    checks.whole("tokens", tokens)
    block = -(-tokens // SIDE)
    chunk = max(CHUNK // block, 1) * block  # whole blocks
    cache, strips = layer.empty_cache(kept_in(layer.config), capacity=tokens), []
    for first in range(0, tokens, chunk):
        last = min(first + chunk, tokens)
        trace, cache = layer.decode(hidden(first, last), cache)
        strips.append(_pooled(trace.attention[0, 0], block, -(-tokens // block)))
        told(last)
    return LongMap(torch.cat(strips), block, cache)


def _pooled(attention: Tensor, block: int, columns: int) -> Tensor:
    """Return the largest of each block of rows [t,s], [t / block, columns]; 0 beyond the keys."""
    t, s = attention.shape
    padded = torch.nn.functional.pad(attention, (0, columns * block - s, 0, -t % block))
    return padded.unflatten(0, (-1, block)).unflatten(2, (columns, block)).amax((1, 3))


def rows(layer: AttentionLayer, hidden: Hidden, read: LongMap, first: int, last: int) -> Tensor:
    """Return the exact attention of the queries first to last - 1 to all keys up to them [t,s].

    Raises:
        ValueError, MemoryBudgetError: as `decode`.
    """
    trace, _ = layer.decode(hidden(first, last), read.cache.prefix(first))
    return trace.attention[0, 0]
