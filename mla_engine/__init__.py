"""Run MHA, MQA, GQA and MLA, and look at every intermediate."""

from mla_engine.cache import KVCache, LatentCache
from mla_engine.config import (
    GroupedConfig,
    LatentConfig,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    RopeConfig,
    YarnConfig,
)
from mla_engine.grouped import GroupedQueryAttention
from mla_engine.mla import MultiHeadLatentAttention
from mla_engine.presets import PRESETS
from mla_engine.symbols import SYMBOLS

__all__ = [
    "PRESETS",
    "SYMBOLS",
    "GroupedConfig",
    "GroupedQueryAttention",
    "KVCache",
    "LatentCache",
    "LatentConfig",
    "LinearScaling",
    "Llama3Scaling",
    "LongRopeScaling",
    "MultiHeadLatentAttention",
    "RopeConfig",
    "YarnConfig",
]
