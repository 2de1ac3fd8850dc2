"""The snippet of the page claims."""

import streamlit as st

from ui.pages.claims import view as claims_list
from ui.parts import findings as claims
from ui.parts.snippet import Code, listed
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    found = claims.findings(st.empty())
    shown = tuple(finding.id for finding in claims_list.shown(found))
    return "claims", {"shown": Code("CLAIMS") if len(shown) == len(found) else listed(shown)}
