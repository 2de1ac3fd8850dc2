"""MHA, GQA and MQA: queries of several heads may share one key and one value."""

from mla_engine.grouped import forms, projections
from mla_engine.grouped.config import GroupedConfig
from mla_engine.grouped.layer import GroupedQueryAttention
from mla_engine.grouped.trace import GroupedTrace

__all__ = ["GroupedConfig", "GroupedQueryAttention", "GroupedTrace", "forms", "projections"]
