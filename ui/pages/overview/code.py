"""The code behind the page overview."""

from mla_engine import costs
from ui.engine import model
from ui.parts import flow as overview
from ui.parts.forward import FORWARD, form
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    overview.of(model.config())  # refuses what cannot be
    counts = costs.cache_elements, costs.mha_cache_elements, costs.parameters
    return (*counts, *FORWARD[form()])
