"""The snippet of the page overview."""

from ui.engine import model
from ui.parts import flow as overview
from ui.parts.snippet_layer import layer
from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    shown = overview.of(model.config())
    return "overview", layer(shown.config, state.settings()["preset"], shown.form) | {
        "tokens": overview.TOKENS
    }
