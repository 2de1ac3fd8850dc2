"""The cache of tied keys and values: one vector per head and token."""

from typing import Self

import torch
from mla_engine.toy.config import TiedConfig
from torch import Tensor

from kvcount import checks
from mla_engine.cache import Cache


class TiedCache(Cache):
    """n_heads d_head elements per token."""

    kind = "tied"
    per_head = True

    @classmethod
    def empty(
        cls,
        config: TiedConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
        n_kv_heads: int | None = None,
    ) -> Self:
        """A cache of no tokens, for all heads or for fewer."""
        checks.kind("config", config, TiedConfig, "a TiedConfig")
        rows = {"kv": (n_kv_heads or config.n_heads, config.d_head)}
        return cls._reserve(config, rows, (batch, dtype, device), capacity)

    @property
    def kv(self) -> Tensor:
        """The vectors held [b,s,h,k]."""
        return self._rows("kv")

    def append(self, kv: Tensor) -> Self:
        """A cache with these tokens [b,t,h,k] after those held."""
        return self._append(kv=kv)
