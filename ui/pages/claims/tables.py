"""The statements that are shown, as data."""

import pandas as pd

from ui.pages.claims.view import View
from ui.parts.statements import words


def figures(here: View) -> pd.DataFrame:
    """One row a computed figure, numbers as numbers, with the statement that it belongs to."""
    rows = [
        {
            "id": finding.id,
            "source": words.source(finding.source),
            "statement": words.statement(finding.id),
            "verdict": words.verdict(finding.code),
            "evidence": words.evidence(finding),
            "figure": figure.name,
            "value": figure.value,
            "unit": figure.unit,
        }
        for finding in here.shown
        if finding.verdict
        for figure in finding.verdict.evidence
    ]
    return pd.DataFrame(rows)
