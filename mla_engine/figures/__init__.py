"""Plotly builders: arrays in, one `go.Figure` out; they draw and compute no science.

Installed with the extra `[figures]`. Colours, sizes and labels come from `theme`.
"""

from mla_engine.figures.atlas import HUES, Tile, head_atlas, small_maps, tile_under
from mla_engine.figures.bands import Band, band_bars, band_lines, band_marks
from mla_engine.figures.bars import bars, ratio_bars
from mla_engine.figures.cells import cell_at
from mla_engine.figures.chosen import chosen_keys
from mla_engine.figures.ends import resized, rows
from mla_engine.figures.figure import Figure
from mla_engine.figures.flow import FlowNode, data_flow
from mla_engine.figures.heatmap import (
    attention_map,
    score_map,
    share_map,
    shared_limit,
    span_map,
    tensor_map,
)
from mla_engine.figures.lines import UNITS, cache_growth, curves
from mla_engine.figures.looks import COLOURS, VARIANTS, Look, Role, look
from mla_engine.figures.pixels import pixels
from mla_engine.figures.ranks import over_rank, right_answers, spectrum
from mla_engine.figures.roofline import crossing, roofline
from mla_engine.figures.shares import Spread, head_shares, head_spread
from mla_engine.figures.theme import symbol_html, symbol_parts
from mla_engine.figures.tiles import TileGrid, head_tiles

__all__ = [
    "COLOURS",
    "HUES",
    "UNITS",
    "VARIANTS",
    "Band",
    "Figure",
    "FlowNode",
    "Look",
    "Role",
    "Spread",
    "Tile",
    "TileGrid",
    "attention_map",
    "band_bars",
    "band_lines",
    "band_marks",
    "bars",
    "cache_growth",
    "cell_at",
    "chosen_keys",
    "crossing",
    "curves",
    "data_flow",
    "head_atlas",
    "head_shares",
    "head_spread",
    "head_tiles",
    "look",
    "over_rank",
    "pixels",
    "ratio_bars",
    "resized",
    "right_answers",
    "roofline",
    "rows",
    "score_map",
    "share_map",
    "shared_limit",
    "small_maps",
    "span_map",
    "spectrum",
    "symbol_html",
    "symbol_parts",
    "tensor_map",
    "tile_under",
]
