"""The scene: one layer drawn to scale, from the tokens that enter to what is kept of them."""

from ui.parts.scene import draw

__all__ = ["draw"]
