"""Which statements the reader's filters leave, and those as a table."""

import pandas as pd

from mla_engine.claims import CLAIMS
from ui.parts.claim_words import plain
from ui.parts.findings import Finding, Findings
from ui.settings.state import settings
from ui.words.text import t


def shown(found: Findings) -> list[Finding]:
    """The statements that pass the three filters; an id as search text means that one alone."""
    s = settings()
    sought = s["claims_text"].strip().casefold()
    alone = [f for f in found.values() if f.id.casefold() == sought]
    return [
        finding
        for finding in alone or found.values()
        if s["claims_verdict"] in ("all", finding.code)
        and s["claims_source"] in ("all", finding.id[0])
        and (alone or sought in _searched(finding))
    ]


def _searched(finding: Finding) -> str:
    """Everything that is said of a statement, in the present language and as the engine says it."""
    claim = CLAIMS[finding.id]
    own = (t(f"claims.{claim.id}_statement"), t(f"claims.{claim.id}_method"), plain(finding))
    return "\n".join((*own, claim.statement, claim.method, claim.source)).casefold()


def table(chosen: list[Finding]) -> pd.DataFrame:
    """One row a computed figure, numbers as numbers, with the statement that it belongs to."""
    rows = [
        {
            "id": finding.id,
            "source": t(f"claims.source_{finding.id[0]}"),
            "statement": t(f"claims.{finding.id}_statement"),
            "verdict": t(f"claims.{finding.code}"),
            "evidence": plain(finding),
            "figure": figure.name,
            "value": figure.value,
            "unit": figure.unit,
        }
        for finding in chosen
        if finding.verdict
        for figure in finding.verdict.evidence
    ]
    return pd.DataFrame(rows)
