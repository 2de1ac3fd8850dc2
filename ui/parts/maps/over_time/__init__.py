"""A layer that keeps a state in the place of keys: what is in it, word after word."""

from ui.parts.maps.over_time import controls, draw

__all__ = ["controls", "draw"]
