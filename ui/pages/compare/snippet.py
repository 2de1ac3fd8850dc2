"""The snippet of the comparison."""

from ui.engine.real_layer import RealLayer
from ui.pages.compare.side import BF16_BYTES, Side
from ui.pages.compare.view import View
from ui.parts.snippet import Code, config, read_config
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    return "compare", {
        "config": _config(view.a),
        "other": _config(view.b),
        "form": view.a.cost_form,
        "other_form": view.b.cost_form,
        "context": view.context,
        "bytes": BF16_BYTES,
    }


def _config(side: Side) -> Code:
    if isinstance(side.origin, RealLayer):
        return read_config(side.origin)
    return config(side.config, side.preset or "")
