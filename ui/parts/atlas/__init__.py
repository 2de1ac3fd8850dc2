"""All heads of a real model on a text: a small map each, coloured by what it does."""

from ui.parts.atlas.found import Found
from ui.parts.atlas.picture import NAME, NARROW, SETTINGS, draw
from ui.parts.atlas.section import all_heads, clicks, drawn

__all__ = ["NAME", "NARROW", "SETTINGS", "Found", "all_heads", "clicks", "draw", "drawn"]
