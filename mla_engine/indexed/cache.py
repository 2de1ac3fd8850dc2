"""The cache of MLA with an indexer: MLA's, and an index key that the index heads share."""

from typing import Self

import torch
from torch import Tensor

from mla_engine import checks
from mla_engine.indexed.config import IndexedConfig
from mla_engine.latent.cache import LatentCache


class IndexedCache(LatentCache):
    """d_latent_kv + d_rope + d_index elements per token; a shared layer keeps no index key."""

    kind = "indexed"

    @classmethod
    def empty(
        cls,
        config: IndexedConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
    ) -> Self:
        """Return an empty cache, as LatentCache.empty does.

        Raises:
            ValueError: a config of another kind, a bad size, or memory beyond the budget.
        """
        checks.kind("config", config, IndexedConfig)
        d_index = 0 if config.index_shared else config.d_index
        rows = {"c_KV": (config.d_latent_kv,), "k_R": (config.d_rope,), "k_I": (d_index,)}
        return cls._reserve(config, rows, (batch, dtype, device), capacity)

    @property
    def k_I(self) -> Tensor | None:
        """The index keys held, after norm and rotation [b,s,x]; None where the choice is shared."""
        return None if self.config.index_shared else self._rows("k_I")

    @property
    def parts(self) -> tuple[Tensor | None, ...]:
        """All that is held of each token."""
        return self.c_KV, self.k_R, self.k_I

    def append(self, c_KV: Tensor, k_R: Tensor | None, k_I: Tensor | None = None) -> Self:
        """Return a cache with these tokens [b,t,c], [b,t,r], [b,t,x] after those held."""
        nothing = c_KV[..., :0]
        k_R, k_I = (nothing if part is None else part for part in (k_R, k_I))
        return self._append(c_KV=c_KV, k_R=k_R, k_I=k_I)
