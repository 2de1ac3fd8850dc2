"""The engine's functions that run a layer forward, by its form."""

from collections.abc import Mapping

from mla_engine import mechanisms
from ui.settings.page import Functions

FORWARD: Mapping[str, Functions] = {
    form.symbols: form.formulas for one in mechanisms.all() for form in one.forms
}
