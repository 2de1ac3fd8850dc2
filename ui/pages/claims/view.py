"""All statements with their verdicts, and which of them the reader's filters leave."""

from collections import Counter
from dataclasses import dataclass

from mla_engine.claims import CLAIMS
from ui.parts.progress import one_by_one
from ui.parts.statements import words
from ui.parts.statements.findings import Finding, Findings, finding
from ui.settings import state
from ui.streamlit_internals import DeltaGenerator
from ui.words.text import t


@dataclass(frozen=True)
class View:
    """What the checks of all statements found, and those that are shown."""

    found: Findings
    shown: tuple[Finding, ...]

    @property
    def tally(self) -> Counter[str]:
        """How many statements have each verdict."""
        return Counter(one.code for one in self.found.values())


def view(place: DeltaGenerator) -> View:
    """The present view; a bar at `place` while the statements are checked."""
    s = state.settings()
    found = {claim: finding(claim) for claim in one_by_one(place, tuple(CLAIMS), _checking)}
    left = _sought(found, s["claims_text"].strip().casefold())
    shown = (
        one
        for one in left
        if s["claims_verdict"] in ("all", one.code) and s["claims_source"] in ("all", one.source)
    )
    return View(found, tuple(shown))


def _checking(claim: str, done: int) -> str:
    return t("claims.checking", claim=claim, done=done, all=len(CLAIMS))


def _sought(found: Findings, text: str) -> list[Finding]:
    """The statements of which the text is said; an id means that one alone."""
    alone = [one for one in found.values() if one.id.casefold() == text]
    return alone or [one for one in found.values() if text in _said(one)]


def _said(one: Finding) -> str:
    """Everything that is said of a statement, in the present language and as the engine says it."""
    claim = CLAIMS[one.id]
    own = words.statement(one.id), words.method(one.id), words.evidence(one)
    stated = words.source(one.source), claim.statement, claim.method, claim.source
    return "\n".join((*own, *stated)).casefold()
