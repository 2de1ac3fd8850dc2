"""DeepSeek Sparse Attention whose index keys are pooled: GLM-5.3-Flash."""

from mla_engine.pooled_index.cache import PooledIndexCache
from mla_engine.pooled_index.config import PooledIndexConfig
from mla_engine.pooled_index.layer import (
    PooledIndexAbsorbedTrace,
    PooledIndexAttention,
    PooledIndexTrace,
)

__all__ = [
    "PooledIndexAbsorbedTrace",
    "PooledIndexAttention",
    "PooledIndexCache",
    "PooledIndexConfig",
    "PooledIndexTrace",
]
