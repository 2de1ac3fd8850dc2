"""Closed forms for one layer: parameters, cache, and the FLOPs and bytes of a call."""

from kvcount.devices import GPUS, Device
from kvcount.sharing import first_whole
from mla_engine.closed_forms import Formula
from mla_engine.costs.calls import Cost, decode, prefill
from mla_engine.costs.formulas import formulas, mistakes
from mla_engine.costs.memory import ATTENTION, Serving, layouts, rank_cache_elements
from mla_engine.costs.roofline import (
    attention_intensity,
    attention_turns,
    expanding_wins,
    lighter_from,
    step_turns,
)
from mla_engine.costs.sizes import (
    cache_bytes_per_token,
    cache_elements,
    equivalent_kv_heads,
    fixed_bytes,
    held_bytes,
    kept,
    kept_parts,
    kept_rows,
    mha_cache_elements,
    model,
    parameters,
    weight_elements,
)
from mla_engine.latent.costs import crossover_queries

__all__ = [
    "ATTENTION",
    "GPUS",
    "Cost",
    "Device",
    "Formula",
    "Serving",
    "attention_intensity",
    "attention_turns",
    "cache_bytes_per_token",
    "cache_elements",
    "crossover_queries",
    "decode",
    "equivalent_kv_heads",
    "expanding_wins",
    "first_whole",
    "fixed_bytes",
    "formulas",
    "held_bytes",
    "kept",
    "kept_parts",
    "kept_rows",
    "layouts",
    "lighter_from",
    "mha_cache_elements",
    "mistakes",
    "model",
    "parameters",
    "prefill",
    "rank_cache_elements",
    "step_turns",
    "weight_elements",
]
