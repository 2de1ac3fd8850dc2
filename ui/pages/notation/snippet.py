"""The snippet of the page notation."""

from ui.engine import model
from ui.parts import flow as overview
from ui.parts.snippet_layer import layer
from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    variant = state.settings()["variant"]
    return "notation", layer(
        model.config(), state.settings()["preset"], overview.FORMS.get(variant, "grouped")
    )
