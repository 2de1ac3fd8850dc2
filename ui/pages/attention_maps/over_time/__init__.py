"""A layer that keeps a state in the place of keys: what is in it, word after word."""

from ui.pages.attention_maps.over_time import view
from ui.pages.attention_maps.over_time.scene import scene

__all__ = ["scene", "view"]
