"""Attention whose keys are also its values: each head keeps one vector of a token, not two.

A mechanism to try the registry with: copied to mla_engine/toy it is found, counted and run.
"""

from mla_engine.toy.cache import TiedCache
from mla_engine.toy.config import TiedConfig
from mla_engine.toy.layer import TiedAttention
from mla_engine.toy.trace import TiedTrace

__all__ = ["TiedAttention", "TiedCache", "TiedConfig", "TiedTrace"]
