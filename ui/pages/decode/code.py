"""The code behind the page decode."""

from mla_engine import costs, mechanisms
from ui.parts import ways
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    ways.ways(decoding=True)
    steps = [formula for way in mechanisms.ways().values() for formula in way.formulas]
    return *steps, costs.decode
