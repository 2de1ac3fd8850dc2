"""The caches of attention; most mechanisms can keep keys and values in full.

A cache is a value. `append` returns a longer one; the old one stays valid for its own length,
also when both share reserved memory or when it is continued twice.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError, instance_of
from mla_engine import budget, tree
from mla_engine.config import AttentionConfig, KeysInFull

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def check_sizes(batch: int, dtype: torch.dtype, **sizes: int | None) -> None:
    """Raise ValueError unless a cache can have these sizes; None is one that is not given."""
    checks.whole("batch", batch)
    checks.choice("dtype", dtype, DTYPES)
    for name, size in sizes.items():
        if size is not None:
            checks.whole(name, size)


@dataclass(eq=False)
class Storage:
    """Reserved memory, [b, capacity, ...] a name, and how much of it some cache has written."""

    buffers: dict[str, Tensor]
    written: int = 0


@dataclass(frozen=True, eq=False)
class Cache:
    """A prefix of some storage.

    A mechanism's own cache has a `kind`, the word for it in settings and tables, an `empty` that
    reserves its rows, and an `append` that takes them by name. Where each KV head keeps rows of
    its own, `per_head`, their axes begin with the KV head and `empty` takes `n_kv_heads`. One that
    is `fixed` has buffers of their own shapes, as large for any number of tokens.
    """

    kind: ClassVar[str]
    per_head: ClassVar[bool] = False
    fixed: ClassVar[bool] = False
    grows_evenly: ClassVar[bool] = True  # by the same rows of every buffer with each token

    config: AttentionConfig
    length: int
    reserved: bool
    storage: Storage = field(repr=False)
    positions: Tensor | None = None  # of the tokens, where one call made them all
    factors: str | None = None  # of LongRoPE that turned the keys held: "short" or "long"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        tree.register(cls, cls._parts, cls._whole)

    def _parts(self) -> tuple[dict[str, object], tuple]:
        config, written = tree.said(self.config), self.storage.written
        metadata = config, self.length, self.reserved, self.factors, written
        return self.buffers | {"positions": self.positions}, metadata

    @classmethod
    def _whole(cls, parts: dict[str, object], metadata: tuple) -> Self:
        config, length, reserved, factors, written = metadata
        positions = parts.pop("positions")
        storage = Storage(parts, written)
        return cls(tree.unsaid(config), length, reserved, storage, positions, factors)

    @classmethod
    def _reserve(
        cls,
        config: AttentionConfig,
        rows: dict[str, tuple[int, ...]],
        place: tuple[int, torch.dtype, torch.device | str],
        capacity: int | None,
    ) -> Self:
        batch, dtype, device = place
        check_sizes(batch, dtype, capacity=capacity)
        elements = sum(torch.Size(row).numel() for row in rows.values())
        needed = batch * (capacity or 0) * elements * dtype.itemsize
        lower = Phrase("less_capacity", capacity=capacity, batch=batch)
        budget.require(needed, instance_of(cls), lower)
        buffers = {
            name: torch.empty(batch, capacity or 0, *row, dtype=dtype, device=device)
            for name, row in rows.items()
        }
        return cls(config, 0, capacity is not None, Storage(buffers))

    @property
    def buffers(self) -> dict[str, Tensor]:
        """The allocated tensors by name, [b, capacity, ...]; rows from `length` on are unused."""
        return self.storage.buffers

    @property
    def _first(self) -> Tensor:
        return next(iter(self.storage.buffers.values()))

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return self._first.shape[0]

    @property
    def n_kv_heads(self) -> int | None:
        """For how many KV heads rows are kept; None where heads share them."""
        return self._first.shape[2] if self.per_head else None

    @property
    def dtype(self) -> torch.dtype:
        """Type of the elements."""
        return self._first.dtype

    @property
    def device(self) -> torch.device:
        """The device of the elements."""
        return self._first.device

    def to(self, device: torch.device | str) -> Self:
        """Return a copy on another device, of the same capacity and length."""
        buffers = {name: buffer.to(device) for name, buffer in self.buffers.items()}
        return replace(self, storage=Storage(buffers, self.storage.written))

    @property
    def nbytes(self) -> int:
        """Bytes of the tokens held."""
        return sum(self._rows(name).nbytes for name in self.buffers)

    @property
    def reserved_nbytes(self) -> int:
        """Bytes allocated."""
        return sum(buffer.nbytes for buffer in self.buffers.values())

    @property
    def copies(self) -> bool:
        """True if the next `append` needs new memory for its reserved rows."""
        # another continuation has written there, or gradients will flow back through what stands
        # in it, or inference mode has sealed the memory (a compiler cannot ask)
        taken = self.storage.written != self.length or self._first.requires_grad
        return self.reserved and (taken or (not torch.compiler.is_compiling() and self._sealed))

    @property
    def _sealed(self) -> bool:
        return self._first.is_inference() and not torch.is_inference_mode_enabled()

    def check_capacity(self, new: int) -> None:
        """Raise ValueError unless so many tokens more fit the capacity that was reserved."""
        capacity, needed = self._first.shape[1], self.length + new
        if self.reserved and needed > capacity:
            raise RefusedError(
                "capacity", capacity=capacity, held=self.length, new=new, needed=needed
            )

    def with_zeros(self, tokens: int) -> Self:
        """Return a cache with so many tokens, all of them zero, after those held."""
        zero = torch.zeros(1, dtype=self.dtype, device=self.device)  # the cache makes the copy
        shapes = {name: buffer.shape[2:] for name, buffer in self.buffers.items()}
        return self._append(
            **{name: zero.expand(self.batch, tokens, *row) for name, row in shapes.items()}
        )

    def rewind(self, length: int) -> Self:
        """Go back to the first `length` tokens; the next `append` writes over the rows behind.

        Caches that share the memory and are longer then hold what is written there.
        """
        self.storage.written = length
        return replace(self, length=length, positions=None)

    def prefix(self, length: int) -> Self:
        """Return the first `length` tokens; what is appended goes behind a copy of them."""
        return replace(self, length=length, reserved=False, positions=None)

    def _rows(self, name: str) -> Tensor:
        return self.buffers[name][:, : self.length]

    def _append(self, **rows: Tensor) -> Self:
        new = next(iter(rows.values())).shape[1]
        if not self.reserved:
            joined = {n: torch.cat((self._rows(n), row), dim=1) for n, row in rows.items()}
            return self._longer(new, Storage(joined))
        self.check_capacity(new)
        storage = self.storage
        if self.copies or (torch.is_grad_enabled() and any(r.requires_grad for r in rows.values())):
            storage = Storage({n: buffer.clone() for n, buffer in self.buffers.items()})
        for name, row in rows.items():
            storage.buffers[name][:, self.length : self.length + new] = row
        storage.written = self.length + new
        return self._longer(new, storage)

    def _longer(self, new: int, storage: Storage) -> Self:
        return replace(self, length=self.length + new, storage=storage, positions=None)


class KVCache(Cache):
    """Keys and values in full: n_kv_heads (d_head + d_value) elements per token.

    For MLA the keys are [k_C; k_R] of every head: n_heads (d_head + d_rope + d_value) elements.
    """

    kind = "kv"
    per_head = True

    @classmethod
    def empty(
        cls,
        config: KeysInFull,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
        n_kv_heads: int | None = None,
    ) -> Self:
        """Return an empty cache as LatentCache.empty does, by `n_kv_heads` of fewer heads."""
        checks.kind("config", config, KeysInFull, Phrase("config_in_full"))
        held, d_key, d_value = config.kv_shape
        if n_kv_heads is not None:
            checks.whole("n_kv_heads", n_kv_heads)
            held = n_kv_heads
        rows = {"k": (held, d_key), "v": (held, d_value)}
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
        """Return a cache with these tokens [b,t,g,k], [b,t,g,v] after those held."""
        return self._append(k=k, v=v)
