"""Plotly builders: arrays in, `go.Figure` out; they draw and compute no science.

Installed with the extra `[figures]`. Colours, sizes and labels come from `theme`.
"""

from mla_engine.figures.flow import FlowNode, data_flow
from mla_engine.figures.heatmap import attention_map, score_map, shared_limit, tensor_map
from mla_engine.figures.lines import UNITS, cache_growth
from mla_engine.figures.theme import COLOURS, symbol_html
from mla_engine.figures.tiles import TileGrid, head_tiles

__all__ = [
    "COLOURS",
    "UNITS",
    "FlowNode",
    "TileGrid",
    "attention_map",
    "cache_growth",
    "data_flow",
    "head_tiles",
    "score_map",
    "shared_limit",
    "symbol_html",
    "tensor_map",
]
