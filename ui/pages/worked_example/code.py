"""The code behind the page worked_example."""

from mla_engine import worked_example
from mla_engine.worked_example.variants import BUILDERS
from ui.pages.worked_example.view import View
from ui.settings.page import Functions


def ran(here: View) -> Functions:
    """What made the steps, and counted the figures that follow where the title says so."""
    counted = () if here.is_completed else (worked_example.printed_count,)
    return (worked_example.steps, BUILDERS[here.variant], *counted)
