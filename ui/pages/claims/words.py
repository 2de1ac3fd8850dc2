"""What the page says: how many statements hold, the choices, a card for each statement."""

import html

from mla_engine.claims import CLAIMS, VERDICTS
from ui.pages.claims.view import View
from ui.parts.statements import words
from ui.parts.statements.findings import Finding, code_of
from ui.words.text import named, t

MARKS = {
    "holds": "✓",
    "fails": "✗",
    "imprecise": "≈",
    "depends": "◐",
    "not_decidable": "?",
    "failed": "!",
}


def lead(here: View) -> tuple[str, str]:
    """How many of the statements hold."""
    n = here.tally
    others = n.total() - n["holds"] - n["fails"]
    said = {"all": n.total(), "holds": n["holds"], "fails": n["fails"], "others": others}
    return t("common.out_of", n=n["holds"], all=n.total()), t("claims.line", **said)


def verdicts(here: View) -> dict[str, str]:
    """The choices of a verdict: mark, word and how many statements have it."""
    every = {"all": t("claims.all_verdicts", n=len(here.found))}
    return every | {
        code: f"{MARKS[code]} {words.verdict(code)} {here.tally[code]}"
        for code in map(code_of, VERDICTS)
    }


def sources() -> dict[str, str]:
    """The choices of a source: the letter of its statements and its name."""
    letters = dict.fromkeys(claim[0] for claim in CLAIMS)
    every = {"all": t("claims.all_sources")}
    return every | {letter: named(letter, words.source(letter)) for letter in letters}


def board(here: View) -> str:
    """Mark and id of the statements that are shown, a row a source, as HTML."""
    rows = []
    for letter in dict.fromkeys(finding.source for finding in here.shown):
        chips = "".join(_chip(finding) for finding in here.shown if finding.source == letter)
        rows.append(f"<p>{words.source(letter)}</p><ul>{chips}</ul>")
    return f'<div class="claims-board">{"".join(rows)}</div>'


def _chip(finding: Finding) -> str:
    stated = html.escape(words.statement(finding.id))
    said = f'aria-label="{words.verdict(finding.code)}" role="img"'
    mark = f"<b {said}>{MARKS[finding.code]}</b>"
    way = f'<a href="#{key(finding)}">{mark} {finding.id}</a>'
    return f'<li class="{finding.code}" title="{stated}">{way}</li>'


def key(finding: Finding) -> str:
    """Of the place where a statement stands on the page."""
    return f"claim_{finding.id}"


def card(finding: Finding, *, opened: bool = False) -> str:
    """One statement as HTML: verdict and what is stated; opened what was computed, how, by whom."""
    method, source = words.method(finding.id), words.source(finding.source)
    stated = _paragraph("statement", "", words.typeset(words.statement(finding.id)))
    said = (
        _paragraph("evidence", t("claims.computed"), words.evidence_html(finding)),
        _paragraph("method", t("claims.method"), words.typeset(method)),
        _paragraph("source", t("claims.source"), source),
    )
    mark = f"<b>{MARKS[finding.code]}</b> {words.verdict(finding.code)}"
    verdict = f'<p class="verdict {finding.code}">{mark} <small>{finding.id}</small></p>'
    shown, told = " open" * opened, f'<div class="told">{"".join(said)}</div>'
    return f'<details class="claim"{shown}><summary>{verdict}{stated}</summary>{told}</details>'


def _paragraph(kind: str, label: str, text: str) -> str:
    return f'<p class="{kind}">{label and f"<i>{label}</i> "}{text}</p>'
