"""The code behind the comparison."""

from collections.abc import Callable

from mla_engine import costs, mechanisms, ops
from mla_engine.costs import calls
from ui.pages.compare.side import Side
from ui.pages.compare.view import View
from ui.settings.page import FORWARD, Functions


def ran(view: View) -> Functions:
    """The functions of the engine that say most about what the page ran."""
    if view.topic == "costs":
        return costs.cache_elements, costs.decode, costs.prefill, calls.call_cost
    run = [function for side in view.sides for function in FORWARD[side.form]]
    maps = [_told(side) for side in view.sides] if view.topic == "maps" else []
    return (costs.cache_elements, *dict.fromkeys((*run, *maps)))


def _told(side: Side) -> Callable:
    """Return what makes a map of a run: a softmax, or the reading of a state."""
    form = mechanisms.form_of(side.variant)
    return form.read or form.columns or ops.softmax
