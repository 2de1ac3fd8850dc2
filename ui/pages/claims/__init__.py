"""Claims: every statement of the sources with its verdict and the numbers that it follows from."""

from mla_engine import claims
from mla_engine.claims import CLAIMS
from ui.pages.claims.places import PLACES
from ui.pages.claims.view import SETTINGS, View
from ui.parts.snippet import Code, listed
from ui.settings.page import Functions, Page, Recipe

FEW = 3  # statements that stand open, and whose checks are shown


def ran(here: View) -> Functions:
    """Return what runs a check and makes the verdict, and the checks where they are few."""
    checks = [claims.CHECKS[finding.id] for finding in here.shown]
    return (claims.check, claims.judge, *(checks if len(checks) <= FEW else ()))


def recipe(here: View) -> Recipe:
    """Return the snippet that checks all statements, and which of them it prints."""
    shown = tuple(finding.id for finding in here.shown)
    return "claims", {"shown": Code("CLAIMS") if len(shown) == len(CLAIMS) else listed(shown)}


PAGE = Page(
    name="claims",
    group="check",
    order=1,
    settings=SETTINGS,
    sizes=False,
    lecture=("claims_verdict", "claims_source"),
    code=ran,
    snippet=recipe,
    links=tuple(PLACES.values()),
)
