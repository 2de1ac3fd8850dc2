"""The snippet of the page absorption."""

from ui.pages.absorption.view import View
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    return "absorption", made(view.model, view.config, [view.head]) | {
        "side": view.side,
        "queries": view.queries,
        "keys": view.context + view.queries,
    }
