"""The snippet of the page notation."""

from ui.pages.notation.view import View
from ui.parts.snippet_layer import layer
from ui.settings.page import Recipe


def recipe(here: View) -> Recipe:
    """The template that lists the symbols of a layer, and how that layer is built."""
    return "notation", layer(here.model.config(), here.model.preset, here.form)
