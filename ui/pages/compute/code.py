"""The code behind the page compute."""

from mla_engine import costs
from mla_engine.costs import Device, calls
from ui.pages.compute import view as compute_page
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    shown = compute_page.scene()
    call = costs.decode if shown.decoding else costs.prefill
    bounds = Device.attainable, Device.seconds
    return (call, calls.call_cost, *bounds, costs.expanding_wins, costs.attention_turns)
