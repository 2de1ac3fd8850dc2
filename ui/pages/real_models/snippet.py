"""The snippet of the page."""

from ui.pages.real_models.run import MEASURES
from ui.pages.real_models.view import View
from ui.parts.snippet import made
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template and the values that make the numbers of the page's title."""
    template = view.mechanism if view.mechanism in (*MEASURES, "grouped") else "plain"
    if template == "plain" and view.topk:
        template = "choosing"
    if template == "pooled" and not view.maps.run.entries:
        template = "window"
    return template, made(view.maps.model, view.config, None)
