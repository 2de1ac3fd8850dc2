"""Run MHA, MQA, GQA, MLA, DSA, KDA, CSA and HCA, and look at every intermediate.

Names are imported on first use, so that what needs no torch is there without it.
"""

from typing import TYPE_CHECKING

from kvcount import refusals
from kvcount.lazy import public_names

if TYPE_CHECKING:
    from mla_engine import checkpoints, costs, mechanisms
    from mla_engine.cache import KVCache
    from mla_engine.config import (
        LinearScaling,
        Llama3Scaling,
        LongRopeScaling,
        RopeConfig,
        YarnConfig,
    )
    from mla_engine.delta import DeltaAttention, DeltaCache, DeltaConfig
    from mla_engine.grouped import GroupedConfig, GroupedQueryAttention
    from mla_engine.indexed import IndexedCache, IndexedConfig, IndexedLatentAttention
    from mla_engine.latent import LatentCache, LatentConfig, MultiHeadLatentAttention
    from mla_engine.pooled import PooledAttention, PooledCache, PooledConfig
    from mla_engine.pooled_index import (
        PooledIndexAttention,
        PooledIndexCache,
        PooledIndexConfig,
    )
    from mla_engine.presets import PRESETS
    from mla_engine.symbols import SYMBOLS

refusals.add("mla_engine")
_HOME = {
    "PRESETS": "presets",
    "SYMBOLS": "symbols",
    "DeltaAttention": "delta",
    "DeltaCache": "delta",
    "DeltaConfig": "delta",
    "GroupedConfig": "grouped",
    "GroupedQueryAttention": "grouped",
    "IndexedCache": "indexed",
    "IndexedConfig": "indexed",
    "IndexedLatentAttention": "indexed",
    "KVCache": "cache",
    "LatentCache": "latent",
    "LatentConfig": "latent",
    "LinearScaling": "config",
    "Llama3Scaling": "config",
    "LongRopeScaling": "config",
    "MultiHeadLatentAttention": "latent",
    "PooledAttention": "pooled",
    "PooledCache": "pooled",
    "PooledConfig": "pooled",
    "PooledIndexAttention": "pooled_index",
    "PooledIndexCache": "pooled_index",
    "PooledIndexConfig": "pooled_index",
    "RopeConfig": "config",
    "YarnConfig": "config",
}
_PACKAGES = ("checkpoints", "costs", "mechanisms")
__all__ = [*_HOME, *_PACKAGES]
__getattr__ = public_names(__name__, _HOME, _PACKAGES)


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return __all__
