"""Run MHA, MQA, GQA, MLA and DSA, and look at every intermediate."""

from mla_engine import checkpoints, costs, mechanisms
from mla_engine.cache import KVCache
from mla_engine.config import (
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    RopeConfig,
    YarnConfig,
)
from mla_engine.grouped import GroupedConfig, GroupedQueryAttention
from mla_engine.indexed import IndexedCache, IndexedConfig, IndexedLatentAttention
from mla_engine.latent import LatentCache, LatentConfig, MultiHeadLatentAttention
from mla_engine.presets import PRESETS
from mla_engine.symbols import SYMBOLS

__all__ = [
    "PRESETS",
    "SYMBOLS",
    "GroupedConfig",
    "GroupedQueryAttention",
    "IndexedCache",
    "IndexedConfig",
    "IndexedLatentAttention",
    "KVCache",
    "LatentCache",
    "LatentConfig",
    "LinearScaling",
    "Llama3Scaling",
    "LongRopeScaling",
    "MultiHeadLatentAttention",
    "RopeConfig",
    "YarnConfig",
    "checkpoints",
    "costs",
    "mechanisms",
]
