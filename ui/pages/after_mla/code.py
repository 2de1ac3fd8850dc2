"""The code behind the page after_mla."""

from mla_engine.model_caches import Placing, Published, read_bytes
from mla_engine.model_caches.levers import Levers, levers
from ui.pages.after_mla.view import View
from ui.settings.page import Functions


def ran(_view: View) -> Functions:
    """Return what reads a published model's layers, and splits its cache into factors."""
    return Published.model, levers, Levers.steps.fget, Placing.held_bytes, read_bytes
