"""The snippet of the page absorption."""

from ui.engine import model
from ui.pages.absorption import view as absorption
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    view = absorption.view()
    return "absorption", made(model.present(), view.config, [view.head]) | {
        "side": view.side,
        "queries": view.queries,
        "keys": view.context + view.queries,
    }
