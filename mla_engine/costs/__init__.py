"""Closed forms for one layer: parameters, cache, and the FLOPs and bytes of a call."""

from mla_engine.costs.calls import Cost, decode, prefill
from mla_engine.costs.roofline import (
    GPUS,
    Device,
    attention_intensity,
    attention_turns,
    expanding_wins,
    first_whole,
    step_turns,
)
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
    "GPUS",
    "Cost",
    "Device",
    "attention_intensity",
    "attention_turns",
    "cache_bytes_per_token",
    "cache_elements",
    "crossover_queries",
    "decode",
    "equivalent_kv_heads",
    "expanding_wins",
    "first_whole",
    "mha_cache_elements",
    "parameters",
    "prefill",
    "step_turns",
    "weight_elements",
]
