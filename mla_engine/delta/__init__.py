"""Kimi Delta Attention: a state of fixed size that every token decays, corrects and reads."""

from mla_engine.delta.cache import DeltaCache
from mla_engine.delta.config import DeltaConfig
from mla_engine.delta.forms import ChunkedTrace, RecurrentTrace
from mla_engine.delta.layer import DeltaAttention

__all__ = ["ChunkedTrace", "DeltaAttention", "DeltaCache", "DeltaConfig", "RecurrentTrace"]
