"""Closed forms for one layer: parameters, cache, and the FLOPs and bytes of a call."""

from mla_engine.costs.calls import Cost, decode, prefill
from mla_engine.costs.sizes import (
    CACHES,
    cache_bytes_per_token,
    cache_elements,
    crossover_queries,
    equivalent_kv_heads,
    mha_cache_elements,
    parameters,
    weight_elements,
)

__all__ = [
    "CACHES",
    "Cost",
    "cache_bytes_per_token",
    "cache_elements",
    "crossover_queries",
    "decode",
    "equivalent_kv_heads",
    "mha_cache_elements",
    "parameters",
    "prefill",
    "weight_elements",
]
