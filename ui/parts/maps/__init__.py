"""Maps of attention: one run of a layer, the maps of its heads, and the controls beside them."""

from ui.parts.maps import charts, controls, words

__all__ = ["charts", "controls", "words"]
