"""The code behind the overview."""

from mla_engine import costs
from ui.pages.overview.view import View
from ui.settings.page import FORWARD, Functions


def ran(view: View) -> Functions:
    """The functions of the engine that say most about what the page ran."""
    counts = costs.cache_elements, costs.held_bytes, costs.parameters
    return (*counts, *FORWARD[view.flow.form])
