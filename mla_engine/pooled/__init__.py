"""Attention over a short window and pooled entries: CSA and HCA of DeepSeek-V4."""

from mla_engine.pooled.cache import PooledCache
from mla_engine.pooled.config import PooledConfig
from mla_engine.pooled.forms import PooledTrace
from mla_engine.pooled.layer import PooledAttention

__all__ = ["PooledAttention", "PooledCache", "PooledConfig", "PooledTrace"]
