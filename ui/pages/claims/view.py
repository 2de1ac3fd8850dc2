"""All statements with their verdicts, and those that the reader's filters leave."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from mla_engine.claims import CLAIMS, VERDICTS
from ui.pages.claims.cards import MARKS
from ui.parts import statements
from ui.parts.control import control
from ui.parts.statements import Finding, code_of, finding
from ui.parts.waits import one_by_one
from ui.settings import parsers, state
from ui.settings.parsers import Setting, one_of
from ui.streamlit_internals import DeltaGenerator
from ui.words.text import named, t

LETTERS = tuple(dict.fromkeys(claim[0] for claim in CLAIMS))  # of the sources
CODES = tuple(map(code_of, VERDICTS))
SETTINGS = {
    "claims_verdict": Setting("all", one_of("all", *CODES), "segmented_control"),
    "claims_source": Setting("all", one_of("all", *LETTERS), "selectbox"),
    "claims_text": Setting("", parsers.words(60), "text_input", "claims.search"),
}


@dataclass(frozen=True)
class View:
    """The findings of all statements, and those that are shown."""

    found: Mapping[str, Finding]
    shown: tuple[Finding, ...]

    @property
    def tally(self) -> Counter[str]:
        """The number of statements with each verdict."""
        return Counter(one.code for one in self.found.values())


def view(place: DeltaGenerator) -> View:
    """Return the present view; a bar at `place` tells of the statements that are checked."""
    chosen = state.chosen("claims")
    found = {claim: finding(claim) for claim in one_by_one(place, tuple(CLAIMS), _checking)}
    shown = (
        one
        for one in _sought(found, chosen.text.strip().casefold())
        if chosen.verdict in ("all", one.code) and chosen.source in ("all", one.source)
    )
    return View(found, tuple(shown))


def _checking(claim: str, done: int) -> str:
    return t("claims.checking", claim=claim, done=done, all=len(CLAIMS))


def _sought(found: Mapping[str, Finding], text: str) -> list[Finding]:
    """Return the statements of which the text is said; an id means only its own."""
    exact = [one for one in found.values() if one.id.casefold() == text]
    return exact or [one for one in found.values() if text in _said(one)]


def _said(one: Finding) -> str:
    """Return all that is said of a statement, in the present language and by the engine."""
    claim = CLAIMS[one.id]
    own = statements.statement(one.id), statements.method(one.id), statements.evidence(one)
    stated = statements.source(one.source), claim.statement, claim.method, claim.source
    return "\n".join((*own, *stated)).casefold()


def lead(here: View) -> tuple[str, str]:
    """Return how many of the statements hold."""
    n = here.tally
    others = n.total() - n["holds"] - n["fails"]
    said = {"all": n.total(), "holds": n["holds"], "fails": n["fails"], "others": others}
    return t("common.out_of", n=n["holds"], all=n.total()), t("claims.line", **said)


def verdict_control(here: View) -> None:
    """Draw the choice of a verdict: mark, word and how many statements have it."""
    labels = {"all": t("claims.all_verdicts", n=len(here.found))}
    for code in CODES:
        labels[code] = f"{MARKS[code]} {statements.verdict(code)} {here.tally[code]}"
    control("claims_verdict", write=labels.get)


def source_control() -> None:
    """Draw the choice of a source: the letter of its statements and its name."""
    labels = {letter: named(letter, statements.source(letter)) for letter in LETTERS}
    control("claims_source", write=({"all": t("claims.all_sources")} | labels).get)


def figures(here: View) -> pd.DataFrame:
    """Return one row a computed figure of the statements shown, numbers as numbers."""
    rows = [
        {
            "id": finding.id,
            "source": statements.source(finding.source),
            "statement": statements.statement(finding.id),
            "verdict": statements.verdict(finding.code),
            "evidence": statements.evidence(finding),
            "figure": figure.name,
            "value": figure.value,
            "unit": figure.unit,
        }
        for finding in here.shown
        if finding.verdict
        for figure in finding.verdict.evidence
    ]
    return pd.DataFrame(rows)
