"""DeepSeek Sparse Attention: MLA over the few keys that a lightning indexer chooses."""

from mla_engine.indexed.cache import IndexedCache
from mla_engine.indexed.config import IndexedConfig
from mla_engine.indexed.forms import IndexedAbsorbedTrace, IndexedTrace
from mla_engine.indexed.layer import IndexedLatentAttention

__all__ = [
    "IndexedAbsorbedTrace",
    "IndexedCache",
    "IndexedConfig",
    "IndexedLatentAttention",
    "IndexedTrace",
]
