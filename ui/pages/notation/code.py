"""The code behind the page notation."""

from mla_engine import names
from mla_engine.symbols import Symbol
from ui.engine import model
from ui.parts.forward import FORWARD, form
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    model.config()
    return Symbol.step, names.citation, *FORWARD[form()]
