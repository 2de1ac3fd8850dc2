"""The code behind the page claims."""

from mla_engine import claims
from ui.pages.claims.view import View
from ui.settings.page import Functions

FEW = 3  # statements whose checks are shown


def ran(here: View) -> Functions:
    """What runs a check and makes the verdict, and the checks themselves where they are few."""
    checks = [claims.CHECKS[finding.id] for finding in here.shown]
    return (claims.check, claims.judge, *(checks if len(checks) <= FEW else ()))
