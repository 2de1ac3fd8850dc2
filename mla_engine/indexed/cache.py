"""The cache of MLA with an indexer: MLA's, and an index key that the index heads share."""

from typing import Self

from torch import Tensor

from mla_engine.indexed.config import IndexedConfig
from mla_engine.latent.cache import LatentCache


class IndexedCache(LatentCache):
    """d_latent_kv + d_rope + d_index elements per token; a shared layer keeps no index key."""

    kind = "indexed"
    config_type, wanted = IndexedConfig, None

    @staticmethod
    def _row(config: IndexedConfig) -> dict[str, tuple[int, ...]]:
        return LatentCache._row(config) | {"k_I": (0 if config.index_shared else config.d_index,)}

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
