"""The cache of any published model, by its config.json: stored and read, without torch.

`read(config)` gives the layers and what each keeps, `counting` the bytes, `Placing` what GPUs hold
and how long the context can grow, `Plan` what they can serve at best, `MODELS` the published models
by key.
"""

from mla_engine.model_caches.counting import (
    Placing,
    by_kind,
    bytes_per_token,
    held_bytes,
    numbers_per_token,
    read_bytes,
)
from mla_engine.model_caches.keys import UncountedError
from mla_engine.model_caches.models import MODELS, Published
from mla_engine.model_caches.parts import Layer, Model, Part
from mla_engine.model_caches.planner import Plan
from mla_engine.model_caches.read import read
from mla_engine.model_caches.serving import Step
from mla_engine.model_caches.storage import Storage, storage

__all__ = [
    "MODELS",
    "Layer",
    "Model",
    "Part",
    "Placing",
    "Plan",
    "Published",
    "Step",
    "Storage",
    "UncountedError",
    "by_kind",
    "bytes_per_token",
    "held_bytes",
    "numbers_per_token",
    "read",
    "read_bytes",
    "storage",
]
