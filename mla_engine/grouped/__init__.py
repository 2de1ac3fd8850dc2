"""MHA, GQA and MQA: queries of several heads may share one key and one value."""

from mla_engine.grouped import forms, projections
from mla_engine.grouped.config import GroupedConfig
from mla_engine.grouped.forms import GroupedTrace
from mla_engine.grouped.layer import GroupedQueryAttention

__all__ = ["GroupedConfig", "GroupedQueryAttention", "GroupedTrace", "forms", "projections"]
