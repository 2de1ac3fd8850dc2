"""The code behind the page notation."""

from mla_engine import names
from mla_engine.symbols import Symbol
from ui.pages.notation.view import View
from ui.parts.forward import FORWARD
from ui.settings.page import Functions


def ran(here: View) -> Functions:
    """What looks a symbol up, and the forward pass whose steps the present variant has."""
    return Symbol.step, names.citation, *FORWARD[here.form]
