"""The code behind the page worked_example."""

from mla_engine import worked_example
from mla_engine.worked_example.variants import BUILDERS
from ui.pages.worked_example import view as stepper
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    variant = stepper.scene().variant
    counted = () if variant.endswith("_completed") else (worked_example.printed_count,)
    return (worked_example.steps, BUILDERS[variant], *counted)
