"""The cache of attention over a window and pooled entries: most of it does not grow by the token.

It keeps the last tokens of a window, as DeepSeek's own cache does, an entry for each full block,
and of the tokens of the block that is not full what will be pooled.
"""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.block_cache import BlockCache, Rows
from mla_engine.pooled.config import PooledConfig
from mla_engine.pooled.pooling import Waiting

WAITING = ("c_E", "z_E", "c_ahead", "z_ahead")
INDEX_WAITING = ("c_IE", "z_IE", "c_I_ahead", "z_I_ahead")


def held_rows(config: PooledConfig, tokens: int) -> Rows:
    """Return the shape of each part that a cache of so many tokens keeps of a sequence."""
    rows = {"kv_T": (min(tokens, config.window), config.d_head)}
    if config.pooling:
        rows |= _pool_rows(config, tokens, WAITING, ("kv_E", config.d_head))
    if config.chooses:
        rows |= _pool_rows(config, tokens, INDEX_WAITING, ("k_E", config.d_index))
    return rows


def _pool_rows(
    config: PooledConfig, tokens: int, names: tuple[str, ...], entry: tuple[str, int]
) -> Rows:
    (name, width), (full, waiting) = entry, divmod(tokens, config.pooling)
    ahead = config.pooling if config.overlap and full else 0
    token = (waiting, config.n_series, width)
    return {name: (full, width)} | dict(
        zip(names, (token, token, (ahead, width), (ahead, width)), strict=True)
    )


@dataclass(frozen=True, eq=False)
class PooledCache(BlockCache):
    """d_head / pooling elements per token, with an indexer d_index / pooling more, and a window."""

    kind = "pooled"
    config_type = PooledConfig
    held_rows = staticmethod(held_rows)

    @property
    def kv_T(self) -> Tensor:
        """Key and value of the last tokens, at most a window of them [b,s,k]."""
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
        """Return the tokens that wait to be pooled."""
        return Waiting(*(self.buffers[name] for name in names))
