"""The code behind the page claims."""

import streamlit as st

from mla_engine import claims
from ui.pages.claims import view as claims_list
from ui.parts import findings as claims_page
from ui.settings.page import Functions

FEW = 3  # statements whose checks are shown


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    shown = claims_list.shown(claims_page.findings(st.empty()))
    checks = [claims.CHECKS[finding.id] for finding in shown]
    return (claims.check, claims.judge, *(checks if len(checks) <= FEW else ()))
