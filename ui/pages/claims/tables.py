"""The statements that are shown, as data."""

from mla_engine.late import Late
from ui.pages.claims.view import View
from ui.parts.statements import words

pd = Late("pandas")


def figures(here: View) -> "pd.DataFrame":
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
