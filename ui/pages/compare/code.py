"""The code behind the page compare."""

from mla_engine import costs, ops
from mla_engine.costs import calls
from ui.pages.compare import view as compare
from ui.parts.forward import FORWARD
from ui.settings import state
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    sides = [compare.side(letter) for letter in compare.SIDES]
    view = state.settings()["vs_view"]
    if view == "costs":
        return costs.cache_elements, costs.decode, costs.prefill, calls.call_cost
    run = [function for side in sides for function in FORWARD[side.form]]
    return (costs.cache_elements, *run, *((ops.softmax,) if view == "maps" else ()))
