"""A statement as a chip of the board above, and as a card with what was computed."""

import html
from collections.abc import Sequence

from ui.parts import statements
from ui.parts.statements import Finding
from ui.words.text import t

MARKS = {
    "holds": "✓",
    "fails": "✗",
    "imprecise": "≈",
    "depends": "◐",
    "not_decidable": "?",
    "failed": "!",
}


def key(finding: Finding) -> str:
    """Return the key of the place where a statement stands on the page."""
    return f"claim_{finding.id}"


def board(shown: Sequence[Finding]) -> str:
    """Return mark and id of the statements that are shown, a row a source, as HTML."""
    rows = []
    for letter in dict.fromkeys(finding.source for finding in shown):
        chips = "".join(_chip(finding) for finding in shown if finding.source == letter)
        rows.append(f"<p>{statements.source(letter)}</p><ul>{chips}</ul>")
    return f'<div class="claims-board">{"".join(rows)}</div>'


def _chip(finding: Finding) -> str:
    stated = html.escape(statements.statement(finding.id))
    said = f'aria-label="{statements.verdict(finding.code)}" role="img"'
    mark = f"<b {said}>{MARKS[finding.code]}</b>"
    way = f'<a href="#{key(finding)}">{mark} {finding.id}</a>'
    return f'<li class="{finding.code}" title="{stated}">{way}</li>'


def card(finding: Finding, *, opened: bool = False) -> str:
    """Return a statement as HTML: verdict and what is stated; opened also what was computed."""
    method, source = statements.method(finding.id), statements.source(finding.source)
    stated = _paragraph("statement", "", statements.typeset(statements.statement(finding.id)))
    said = (
        _paragraph("evidence", t("claims.computed"), statements.evidence_html(finding)),
        _paragraph("method", t("claims.method"), statements.typeset(method)),
        _paragraph("source", t("claims.source"), source),
    )
    mark = f"<b>{MARKS[finding.code]}</b> {statements.verdict(finding.code)}"
    verdict = f'<p class="verdict {finding.code}">{mark} <small>{finding.id}</small></p>'
    shown, told = " open" * opened, f'<div class="told">{"".join(said)}</div>'
    return f'<details class="claim"{shown}><summary>{verdict}{stated}</summary>{told}</details>'


def _paragraph(kind: str, label: str, text: str) -> str:
    return f'<p class="{kind}">{label and f"<i>{label}</i> "}{text}</p>'
