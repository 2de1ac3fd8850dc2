"""A cache most of which does not grow by the token: entries of full blocks, and what waits.

What has been pooled or has left a window is gone, so that such a cache goes on and never back.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError, instance_of
from mla_engine import budget
from mla_engine.cache import Cache, Storage, check_sizes
from mla_engine.config import AttentionConfig

Rows = dict[str, tuple[int, ...]]


def numbers(rows: Rows) -> int:
    """Count the numbers in the parts that a cache keeps of a sequence."""
    return sum(map(math.prod, rows.values()))


@dataclass(frozen=True, eq=False)
class BlockCache(Cache):
    """A cache with the buffers that a mechanism's `held_rows` gives for its `config_type`.

    Nothing is reserved: `capacity` is how many tokens may be held.
    """

    grows_evenly = False
    config_type: ClassVar[type[AttentionConfig]]

    capacity: int | None = None

    @staticmethod
    @abstractmethod
    def held_rows(config: AttentionConfig, tokens: int) -> Rows:
        """Return the shape of each part that a cache of so many tokens keeps of a sequence."""

    @classmethod
    def empty(
        cls,
        config: AttentionConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
    ) -> Self:
        """Return a cache of no tokens.

        Raises:
            ValueError: a config of another kind, a bad size, or memory beyond the budget.
        """
        checks.kind("config", config, cls.config_type)
        check_sizes(batch, dtype, capacity=capacity)
        if capacity is not None:
            of_each = numbers(cls.held_rows(config, capacity))
            lower = Phrase("less_capacity", capacity=capacity, batch=batch)
            budget.require(batch * of_each * dtype.itemsize, instance_of(cls), lower)
        buffers = cls._zeros(config, 0, (batch, dtype, device))
        return cls(config, 0, False, Storage(buffers), capacity=capacity)

    def _parts(self) -> tuple[dict[str, object], tuple]:
        tensors, metadata = super()._parts()
        return tensors, (self.capacity, *metadata)

    @classmethod
    def _whole(cls, parts: dict[str, object], metadata: tuple) -> Self:
        capacity, *metadata = metadata
        return replace(super()._whole(parts, metadata), capacity=capacity)

    def _rows(self, name: str) -> Tensor | None:
        return self.buffers.get(name)

    def longer(self, new: int, **buffers: Tensor) -> Self:
        """Return a cache of `new` tokens more that keeps these parts."""
        self.check_capacity(new)
        return self._of(self.length + new, buffers)

    def check_capacity(self, new: int) -> None:
        """Raise ValueError unless so many tokens more are within the capacity."""
        capacity, needed = self.capacity, self.length + new
        if capacity is not None and needed > capacity:
            held = {"held": self.length, "new": new, "needed": needed}
            raise RefusedError("capacity", capacity=capacity, **held)

    def with_zeros(self, tokens: int) -> Self:
        """Return a cache with so many tokens, all of them zero, in the place of those held."""
        place = self.batch, self.dtype, self.device
        self.check_capacity(tokens)
        length = self.length + tokens
        return self._of(length, self._zeros(self.config, length, place))

    def _of(self, length: int, buffers: dict[str, Tensor]) -> Self:
        return replace(self, length=length, storage=Storage(buffers, length), positions=None)

    def rewind(self, length: int) -> Self:
        """Return the cache itself: there is no way back to fewer tokens.

        Raises:
            ValueError: fewer tokens than are held.
        """
        if length != self.length:
            raise RefusedError("pooled_way_back", held=self.length, length=length)
        return self

    prefix = rewind

    @classmethod
    def _zeros(
        cls,
        config: AttentionConfig,
        tokens: int,
        place: tuple[int, torch.dtype, torch.device | str],
    ) -> dict[str, Tensor]:
        batch, dtype, device = place
        rows = cls.held_rows(config, tokens).items()
        return {name: torch.zeros(batch, *row, dtype=dtype, device=device) for name, row in rows}
