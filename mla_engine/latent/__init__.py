"""Multi-head Latent Attention: keys and values of all heads out of one small latent."""

from mla_engine.latent import forms, projections
from mla_engine.latent.absorption import AbsorbedMatrices
from mla_engine.latent.cache import LatentCache
from mla_engine.latent.config import LatentConfig
from mla_engine.latent.layer import MultiHeadLatentAttention
from mla_engine.latent.trace import AbsorbedTrace, LatentTrace

__all__ = [
    "AbsorbedMatrices",
    "AbsorbedTrace",
    "LatentCache",
    "LatentConfig",
    "LatentTrace",
    "MultiHeadLatentAttention",
    "forms",
    "projections",
]
