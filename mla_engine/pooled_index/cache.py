"""The cache of MLA with an indexer over pooled keys: latents, and an index key for each block."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.block_cache import BlockCache, Rows
from mla_engine.pooled.pooling import Waiting
from mla_engine.pooled_index.config import PooledIndexConfig


def held_rows(config: PooledIndexConfig, tokens: int) -> Rows:
    """Return the shape of each part that a cache of so many tokens keeps of a sequence."""
    rows = {"c_KV": (tokens, config.d_latent_kv), "k_R": (tokens, config.d_rope)}
    if config.index_shared:
        return rows
    full, waiting = divmod(tokens, config.pooling)
    of_token = (waiting, config.n_series, config.d_index)
    return rows | {"k_E": (full, config.d_index), "k_I": of_token, "z_IE": of_token}


@dataclass(frozen=True, eq=False)
class PooledIndexCache(BlockCache):
    """d_latent_kv + d_rope + d_index / pooling elements per token, and what waits to be pooled.

    A layer that shares its choice keeps no index keys.
    """

    kind = "pooled_index"
    config_type = PooledIndexConfig
    held_rows = staticmethod(held_rows)

    @property
    def c_KV(self) -> Tensor:
        """The latents held, after norm and scale [b,s,c]."""
        return self._rows("c_KV")

    @property
    def k_R(self) -> Tensor | None:
        """The shared keys beside them [b,s,r]; None without rotary dimensions."""
        return self._rows("k_R") if self.config.d_rope else None

    @property
    def k_E(self) -> Tensor | None:
        """The index key of every full block [b,i,x]; None where the choice is shared."""
        return self._rows("k_E")

    @property
    def parts(self) -> tuple[Tensor | None, ...]:
        """The parts that a run reads."""
        return self.c_KV, self.k_R, self.k_E

    @property
    def waiting(self) -> Waiting:
        """Index keys and their gates' logits of the tokens whose block is not full yet."""
        k_I, z_IE = self._rows("k_I"), self._rows("z_IE")
        nothing = k_I[:, :0, 0]
        return Waiting(k_I, z_IE, nothing, nothing)
