"""The code behind the page decode."""

from mla_engine import costs, mechanisms
from mla_engine.language_model import generate
from ui.pages.decode.view import View
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """The functions of the engine that run in every step and that tell most about it."""
    steps = [formula for way in mechanisms.ways().values() for formula in way.formulas]
    return *([generate] if view.writer else []), *steps, costs.decode
