"""The snippet of the page."""

from mla_engine import GroupedConfig
from ui.pages.real_models.view import View
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template and the values that make the numbers of the page's title."""
    template = "grouped" if isinstance(view.config, GroupedConfig) else "latent"
    return template, made(view.maps.model, view.config, None)
