"""The snippet of the page compare."""

from ui.engine import real_layer as source
from ui.pages.compare import view as compare
from ui.parts.snippet import Code, config
from ui.parts.snippet_layer import read_config
from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    a, b = (compare.side(letter) for letter in compare.SIDES)
    return "compare", {
        "config": _side_config(a),
        "other": _side_config(b),
        "form": _cost_form(a),
        "other_form": _cost_form(b),
        "context": state.settings()["vs_context"],
    }


def _side_config(side: compare.Side) -> Code:
    if isinstance(side.origin, source.RealLayer):
        return read_config(side.origin)
    return config(side.config, side.preset or "")


def _cost_form(side: compare.Side) -> str | None:
    return None if side.form == "grouped" else side.form
