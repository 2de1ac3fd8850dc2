"""The snippet of the page claims."""

from ui.pages.claims.view import View
from ui.parts.snippet import Code, listed
from ui.settings.page import Recipe


def recipe(here: View) -> Recipe:
    """The template that checks all statements, and which of them it prints."""
    shown = tuple(finding.id for finding in here.shown)
    return "claims", {"shown": Code("CLAIMS") if len(shown) == len(here.found) else listed(shown)}
