"""A text too long for its whole map: one head, pooled, and any part of it exact."""

from ui.pages.attention_maps.long import controls, draw, view

__all__ = ["controls", "draw", "view"]
