"""The cache of any published model, by its config.json: stored and read, without torch.

`read(config)` gives the layers and what each keeps, `counting` the bytes, `Placing` what GPUs hold
and how long the context can grow, `Plan` what they can serve at best, `MODELS` the published models
by key.
"""

from mla_engine.model_caches.counting import (
    OfKind,
    Placing,
    by_kind,
    bytes_per_token,
    held_bytes,
    numbers_per_token,
    read_bytes,
)
from mla_engine.model_caches.keys import UncountedError
from mla_engine.model_caches.models import Published, models
from mla_engine.model_caches.parts import Layer, Model, Part
from mla_engine.model_caches.planner import Plan, Step
from mla_engine.model_caches.read import architectures, read
from mla_engine.model_caches.storage import TYPES, Storage, storage

MODELS = models()
__all__ = [
    "MODELS",
    "TYPES",
    "Layer",
    "Model",
    "OfKind",
    "Part",
    "Placing",
    "Plan",
    "Published",
    "Step",
    "Storage",
    "UncountedError",
    "architectures",
    "by_kind",
    "bytes_per_token",
    "held_bytes",
    "numbers_per_token",
    "read",
    "read_bytes",
    "storage",
]
