"""Notation: every symbol with its meaning, formula, sizes, and names in paper and code."""

from ui.pages.notation import code, snippet
from ui.pages.notation.places import EVERY
from ui.pages.notation.settings import SETTINGS
from ui.settings.page import Page

PAGE = Page(
    name="notation",
    group="check",
    order=3,
    settings=SETTINGS,
    lecture=("notation_search", "notation_of"),
    code=code.ran,
    snippet=snippet.recipe,
    links=EVERY,
)
