"""The code behind the comparison."""

from mla_engine import costs, ops
from mla_engine.costs import calls
from ui.pages.compare.view import View
from ui.parts.forward import FORWARD
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """The functions of the engine that say most about what the page ran."""
    if view.topic == "costs":
        return costs.cache_elements, costs.decode, costs.prefill, calls.call_cost
    run = [function for side in view.sides for function in FORWARD[side.form]]
    return (costs.cache_elements, *run, *((ops.softmax,) if view.topic == "maps" else ()))
