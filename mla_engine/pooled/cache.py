"""The cache of attention over a window and pooled entries: most of it does not grow by the token.

It keeps the last window - 1 tokens, an entry for each full block, and of the tokens of the block
that is not full what will be pooled. What has been pooled or has left the window is gone, so
that a cache goes on and never back.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from mla_engine import budget, checks
from mla_engine.cache import DTYPES, Cache, Storage
from mla_engine.pooled.config import PooledConfig
from mla_engine.pooled.pooling import Waiting
from mla_engine.refusals import Phrase, RefusedError, instance_of

WAITING = ("c_E", "z_E", "c_ahead", "z_ahead")
INDEX_WAITING = ("c_IE", "z_IE", "c_I_ahead", "z_I_ahead")


def held_rows(config: PooledConfig, tokens: int) -> dict[str, tuple[int, ...]]:
    """What a cache of so many tokens keeps of a sequence: the shape of each part."""
    rows = {"kv_T": (min(tokens, config.window - 1), config.d_head)}
    if config.pooling:
        rows |= _pool_rows(config, tokens, WAITING, ("kv_E", config.d_head))
    if config.chooses:
        rows |= _pool_rows(config, tokens, INDEX_WAITING, ("k_E", config.d_index))
    return rows


def _pool_rows(
    config: PooledConfig, tokens: int, names: tuple[str, ...], entry: tuple[str, int]
) -> dict[str, tuple[int, ...]]:
    (name, width), (full, waiting) = entry, divmod(tokens, config.pooling)
    ahead = config.pooling if config.overlap and full else 0
    token = (waiting, config.n_series, width)
    return {name: (full, width)} | dict(
        zip(names, (token, token, (ahead, width), (ahead, width)), strict=True)
    )


@dataclass(frozen=True, eq=False)
class PooledCache(Cache):
    """d_head / pooling elements per token, with an indexer d_index / pooling more, and a window.

    Nothing is reserved: `capacity` is how many tokens may be held.
    """

    kind = "pooled"
    grows_evenly = False

    capacity: int | None = None

    @classmethod
    def empty(
        cls,
        config: PooledConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
    ) -> Self:
        """A cache of no tokens.

        Raises:
            ValueError: a config of another kind, a bad size, or memory beyond the budget.
        """
        checks.kind("config", config, PooledConfig)
        checks.whole("batch", batch)
        checks.choice("dtype", dtype, DTYPES)
        if capacity is not None:
            checks.whole("capacity", capacity)
            of_each = sum(torch.Size(row).numel() for row in held_rows(config, capacity).values())
            lower = Phrase("less_capacity", capacity=capacity, batch=batch)
            budget.require(batch * of_each * dtype.itemsize, instance_of(cls), lower)
        buffers = _zeros(config, 0, (batch, dtype, device))
        return cls(config, 0, False, Storage(buffers), capacity=capacity)

    def _parts(self) -> tuple[dict[str, object], tuple]:
        tensors, kept = super()._parts()
        return tensors, (self.capacity, *kept)

    @classmethod
    def _whole(cls, parts: dict[str, object], kept: tuple) -> Self:
        capacity, *kept = kept
        return replace(super()._whole(parts, kept), capacity=capacity)

    def _rows(self, name: str) -> Tensor | None:
        return self.buffers.get(name)

    @property
    def kv_T(self) -> Tensor:
        """Key and value of the last tokens, at most window - 1 [b,s,k]."""
        return self._rows("kv_T")

    @property
    def kv_E(self) -> Tensor | None:
        """Key and value of every entry [b,i,k]; None where nothing is pooled."""
        return self._rows("kv_E")

    @property
    def k_E(self) -> Tensor | None:
        """Index key of every entry [b,i,x]; None where nothing is chosen."""
        return self._rows("k_E")

    def waiting(self, names: tuple[str, ...] = WAITING) -> Waiting:
        """What waits to be pooled."""
        return Waiting(*(self.buffers[name] for name in names))

    def longer(self, new: int, **buffers: Tensor) -> Self:
        """A cache of `new` tokens more that keeps these parts."""
        self.require_room(new)
        return self._of(self.length + new, buffers)

    def require_room(self, new: int) -> None:
        """Raise ValueError unless so many tokens more are within the capacity."""
        capacity, needed = self.capacity, self.length + new
        if capacity is not None and needed > capacity:
            held = {"held": self.length, "new": new, "needed": needed}
            raise RefusedError("capacity", capacity=capacity, **held)

    def with_zeros(self, tokens: int) -> Self:
        """A cache with so many tokens, all of them zero, in the place of those held."""
        place = self.batch, self.dtype, self.device
        self.require_room(tokens)
        length = self.length + tokens
        return self._of(length, _zeros(self.config, length, place))

    def _of(self, length: int, buffers: dict[str, Tensor]) -> Self:
        return replace(self, length=length, storage=Storage(buffers, length), positions=None)

    def rewind(self, length: int) -> Self:
        """The cache itself: there is no way back to fewer tokens.

        Raises:
            ValueError: fewer tokens than are held.
        """
        if length != self.length:
            raise RefusedError("pooled_way_back", held=self.length, length=length)
        return self

    prefix = rewind


def _zeros(
    config: PooledConfig, tokens: int, place: tuple[int, torch.dtype, torch.device | str]
) -> dict[str, Tensor]:
    batch, dtype, device = place
    rows = held_rows(config, tokens).items()
    return {name: torch.zeros(batch, *row, dtype=dtype, device=device) for name, row in rows}
