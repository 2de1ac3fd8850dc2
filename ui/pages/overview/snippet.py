"""The snippet of the overview."""

from ui.pages.overview.view import View
from ui.parts.flow import TOKENS
from ui.parts.snippet import layer
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    lines = layer(view.config, view.model.preset, view.flow.form)
    sizes = {name: view.model.sizes[name] for name in ("n_heads", "d_head", "d_value")}
    values = lines | sizes | {"tokens": TOKENS}
    if not view.cached:
        return "overview_state", values
    if not view.fixed:
        return "overview", values
    return "overview_long", values | {"context": view.context}
