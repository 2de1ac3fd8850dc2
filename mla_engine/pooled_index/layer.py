"""MLA with an indexer over pooled keys (GLM-5.3-Flash).

The indexer of DeepSeek Sparse Attention with one index key for a block of tokens: it chooses whole
blocks, and scores and keeps `pooling` times fewer keys. Layers may share a choice as there.
"""

from mla_engine.pooled_index import forms
from mla_engine.pooled_index.cache import PooledIndexCache
from mla_engine.pooled_index.projections import PooledIndexProjections


class PooledIndexAttention(PooledIndexProjections):
    """Calls as of DSA's layer, whose `decode` takes a PooledIndexCache; each returns its trace."""

    _prefill, _compressed = staticmethod(forms.prefill), staticmethod(forms.compressed)
    _decoded, _own_cache = staticmethod(forms.decode), PooledIndexCache
