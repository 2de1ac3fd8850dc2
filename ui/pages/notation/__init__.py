"""Notation: every symbol with its meaning, formula, sizes, and names in paper and code."""

from mla_engine import mechanisms, names
from mla_engine.symbols import Symbol
from ui.pages.notation.table import EVERY_LINK
from ui.pages.notation.view import SETTINGS, View
from ui.parts.snippet import layer
from ui.settings.page import Functions, Page, Recipe


def ran(here: View) -> Functions:
    """Return what looks a symbol up, and the forward pass that the present variant has."""
    return Symbol.step, names.citation, *mechanisms.form_of(here.model.variant).formulas


def recipe(here: View) -> Recipe:
    """Return the snippet that lists the symbols of a layer."""
    return "notation", layer(here.model.config(), here.model.preset, here.model.form)


PAGE = Page(
    name="notation",
    group="check",
    order=3,
    settings=SETTINGS,
    lecture=("notation_search", "notation_of"),
    code=ran,
    snippet=recipe,
    links=EVERY_LINK,
)
