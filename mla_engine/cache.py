"""What attention keeps per token: K and V, or MLA's latent c_KV and rotary key k_R.

A cache is a value. `append` returns a longer one; the old one stays valid for its own length,
also when both share reserved memory or when it is continued twice.
"""

from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor

from mla_engine import budget, checks
from mla_engine.config import GroupedConfig, LatentConfig


@dataclass(eq=False)
class _Storage:
    """Reserved memory, [b, capacity, ...] a name, and how much of it some cache has written."""

    buffers: dict[str, Tensor]
    written: int = 0


@dataclass(frozen=True, eq=False)
class _Cache:
    """A prefix of some storage."""

    config: GroupedConfig | LatentConfig
    length: int
    reserved: bool
    storage: _Storage = field(repr=False)
    positions: Tensor | None = None  # of the tokens, where one call made them all

    @classmethod
    def _reserve(
        cls,
        config: GroupedConfig | LatentConfig,
        rows: dict[str, tuple[int, ...]],
        place: tuple[int, torch.dtype, torch.device | str],
        capacity: int | None,
    ) -> Self:
        batch, dtype, device = place
        checks.whole("batch", batch)
        checks.choice("dtype", dtype, DTYPES)
        if capacity is not None:
            checks.whole("capacity", capacity)
        elements = sum(torch.Size(row).numel() for row in rows.values())
        needed = batch * (capacity or 0) * elements * dtype.itemsize
        budget.require(needed, f"a {cls.__name__}", f"capacity ({capacity}) or batch ({batch})")
        buffers = {
            name: torch.empty(batch, capacity or 0, *row, dtype=dtype, device=device)
            for name, row in rows.items()
        }
        return cls(config, 0, capacity is not None, _Storage(buffers))

    @property
    def buffers(self) -> dict[str, Tensor]:
        """The allocated tensors by name, [b, capacity, ...]; rows from `length` on are unused."""
        return self.storage.buffers

    @property
    def _first(self) -> Tensor:
        return next(iter(self.buffers.values()))

    @property
    def batch(self) -> int:
        """How many sequences are kept."""
        return self._first.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """Type of the elements."""
        return self._first.dtype

    @property
    def device(self) -> torch.device:
        """Where the elements are."""
        return self._first.device

    def to(self, device: torch.device | str) -> Self:
        """A copy on another device, with the same room and the same length."""
        buffers = {name: buffer.to(device) for name, buffer in self.buffers.items()}
        storage = _Storage(buffers, self.storage.written)
        return type(self)(self.config, self.length, self.reserved, storage)

    @property
    def nbytes(self) -> int:
        """Bytes of the tokens held."""
        return sum(self._rows(name).nbytes for name in self.buffers)

    @property
    def reserved_nbytes(self) -> int:
        """Bytes allocated."""
        return sum(buffer.nbytes for buffer in self.buffers.values())

    def _rows(self, name: str) -> Tensor:
        return self.buffers[name][:, : self.length]

    def _append(self, **rows: Tensor) -> Self:
        new = next(iter(rows.values())).shape[1]
        if not self.reserved:
            joined = {n: torch.cat((self._rows(n), row), dim=1) for n, row in rows.items()}
            return type(self)(self.config, self.length + new, False, _Storage(joined))
        storage, capacity = self.storage, self._first.shape[1]
        if self.length + new > capacity:
            raise ValueError(
                f"capacity ({capacity}) is too small for {self.length} tokens held and {new} new: "
                f"reserve {self.length + new}, or None to grow"
            )
        # another continuation has written there, or inference mode has sealed the memory
        sealed = self._first.is_inference() and not torch.is_inference_mode_enabled()
        if storage.written != self.length or sealed:
            storage = _Storage({n: buffer.clone() for n, buffer in self.buffers.items()})
        for name, row in rows.items():
            storage.buffers[name][:, self.length : self.length + new] = row
        storage.written = self.length + new
        return type(self)(self.config, self.length + new, True, storage)


class LatentCache(_Cache):
    """MLA's cache: d_latent_kv + d_rope elements per token, whatever the number of heads."""

    @classmethod
    def empty(
        cls,
        config: LatentConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
    ) -> Self:
        """A cache of no tokens; `capacity` reserves memory for so many, None grows as needed.

        Raises:
            ValueError: a config of another kind, a bad size, or memory beyond the budget.
        """
        checks.kind(
            "config",
            config,
            LatentConfig,
            "a LatentConfig: grouped heads use a KVCache",
        )
        rows = {"c_KV": (config.d_latent_kv,), "k_R": (config.d_rope,)}
        return cls._reserve(config, rows, (batch, dtype, device), capacity)

    @property
    def c_KV(self) -> Tensor:
        """The latents held, after norm and scale [b,s,c]."""
        return self._rows("c_KV")

    @property
    def k_R(self) -> Tensor | None:
        """The shared rotary keys held, after rotation [b,s,r]; None without rotary dimensions."""
        return self._rows("k_R") if self.config.d_rope else None

    def append(self, c_KV: Tensor, k_R: Tensor | None) -> Self:
        """A cache with these tokens [b,t,c], [b,t,r] after those held."""
        return self._append(c_KV=c_KV, k_R=c_KV[..., :0] if k_R is None else k_R)


class KVCache(_Cache):
    """Keys and values in full: n_kv_heads (d_head + d_value) elements per token.

    For MLA the keys are [k_C; k_R] of every head: n_heads (d_head + d_rope + d_value) elements.
    """

    @classmethod
    def empty(
        cls,
        config: GroupedConfig | LatentConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
        n_kv_heads: int | None = None,
    ) -> Self:
        """As LatentCache.empty; `n_kv_heads` below the config's serves a layer of fewer heads."""
        kinds = (GroupedConfig, LatentConfig)
        checks.kind("config", config, kinds, "a GroupedConfig or a LatentConfig")
        latent = isinstance(config, LatentConfig)
        held = config.n_heads if latent else config.n_kv_heads
        if n_kv_heads is not None:
            checks.whole("n_kv_heads", n_kv_heads)
            held = n_kv_heads
        d_key = config.d_head + (config.d_rope if latent else 0)
        rows = {"k": (held, d_key), "v": (held, config.d_value)}
        return cls._reserve(config, rows, (batch, dtype, device), capacity)

    @property
    def k(self) -> Tensor:
        """The keys held [b,s,g,k]; of MLA [b,s,h,k+r]."""
        return self._rows("k")

    @property
    def v(self) -> Tensor:
        """The values held [b,s,g,v]."""
        return self._rows("v")

    def append(self, k: Tensor, v: Tensor) -> Self:
        """A cache with these tokens [b,t,g,k], [b,t,g,v] after those held."""
        return self._append(k=k, v=v)


DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
