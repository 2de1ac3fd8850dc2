"""The cache of Kimi Delta Attention: a state of fixed size, and its convolutions' tails."""

from dataclasses import replace
from typing import Self

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError, instance_of
from mla_engine import budget
from mla_engine.cache import Cache, Storage, check_sizes
from mla_engine.delta.config import DeltaConfig
from mla_engine.delta.projections import Tails


class DeltaCache(Cache):
    """n_heads d_head d_value elements in max(float32, dtype), and conv_width - 1 tokens' q, k, v.

    It does not grow with the tokens, and it does not go back: a state has no rows to leave out.
    """

    kind = "delta"
    per_head = True
    fixed = True

    @classmethod
    def empty(
        cls,
        config: DeltaConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
        n_kv_heads: int | None = None,
    ) -> Self:
        """Return the state of no tokens, 0; `capacity` changes nothing, `n_kv_heads` serves fewer.

        Raises:
            ValueError: a config of another kind, a bad size, or memory beyond the budget.
        """
        checks.kind("config", config, DeltaConfig)
        check_sizes(batch, dtype, capacity=capacity, n_kv_heads=n_kv_heads)
        h, k, v = n_kv_heads or config.n_heads, config.d_head, config.d_value
        tail, state = (batch, config.conv_width - 1, h), torch.promote_types(dtype, torch.float32)
        sizes = {"q": (*tail, k), "k": (*tail, k), "v": (*tail, v), "S": (batch, h, k, v)}
        dtypes = {name: state if name == "S" else dtype for name in sizes}
        needed = sum(torch.Size(s).numel() * dtypes[name].itemsize for name, s in sizes.items())
        budget.require(needed, instance_of(cls), Phrase("less_batch", batch=batch))
        made = {n: torch.zeros(s, dtype=dtypes[n], device=device) for n, s in sizes.items()}
        return cls(config, 0, False, Storage(made))

    @property
    def S(self) -> Tensor:
        """The state after the last token [b,h,k,v]."""
        return self.buffers["S"]

    @property
    def tails(self) -> Tails:
        """The inputs of the last tokens that the convolutions still need."""
        return Tails(*(self.buffers[name] for name in Tails._fields))

    @property
    def nbytes(self) -> int:
        """Bytes of state and tails, whatever the tokens."""
        return self.reserved_nbytes

    def after(self, new: int, tails: Tails, S: Tensor) -> Self:
        """Return the cache behind so many tokens more."""
        return self._longer(new, Storage(tails._asdict() | {"S": S}))

    def with_zeros(self, tokens: int) -> Self:
        """Return a cache that counts so many tokens more, none of which has written anything."""
        return replace(self, length=self.length + tokens)

    def rewind(self, length: int) -> Self:
        """Return itself at its own length; a state has no way back.

        Raises:
            ValueError: a shorter length.
        """
        return self.prefix(length)

    def prefix(self, length: int) -> Self:
        """Return the cache of the first `length` tokens, as `rewind` does."""
        if length != self.length:
            raise RefusedError("no_way_back", length=length, held=self.length)
        return self
