"""The snippet of the page."""

from ui.pages.real_models.view import View
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template and the values that make the numbers of the page's title."""
    kind = "choosing" if view.topk else "latent" if view.latent else "grouped"
    return kind, made(view.maps.model, view.config, None)
