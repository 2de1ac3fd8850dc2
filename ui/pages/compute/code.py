"""The code behind the page compute."""

from mla_engine import costs
from mla_engine.costs import Device, calls
from ui.pages.compute.view import View
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """The functions of the engine that ran for this view and that tell most about it."""
    call = costs.decode if view.decoding else costs.prefill
    bounds = Device.attainable, Device.seconds
    return (call, calls.call_cost, *bounds, costs.expanding_wins, costs.attention_turns)
