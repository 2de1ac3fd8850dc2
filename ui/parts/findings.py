"""The statements of the sources with their verdicts, checked in pieces and kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from mla_engine import claims
from ui.engine import queue
from ui.words.text import refusal, t

PATIENCE_SECONDS = 0.3  # what takes less shows no progress


@dataclass(frozen=True)
class Finding:
    """A statement's id with its verdict, or with the reason why its check did not run."""

    id: str
    verdict: claims.Verdict | None
    reason: str = ""

    @property
    def code(self) -> str:
        """The verdict as a word for keys and links; "failed" without one."""
        return self.verdict.verdict.replace(" ", "_") if self.verdict else "failed"


Findings = Mapping[str, Finding]


@st.cache_data(max_entries=64, show_spinner=False)
def checked(claim: str) -> claims.Verdict:
    """The verdict of one statement, computed once a server.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    with queue.turn(), torch.inference_mode():
        return claims.check(claim)


def findings(place: DeltaGenerator) -> Findings:
    """All statements checked one after the other, with a bar at `place` while that takes a while.

    Between two checks a change of a widget interrupts the run; finished ones stay cached.

    Raises:
        FullError: too much waits to be run.
    """
    started, found = monotonic(), {}
    for done, claim in enumerate(claims.CLAIMS):
        if monotonic() - started > PATIENCE_SECONDS:
            words = t("claims.checking", claim=claim, done=done, all=len(claims.CLAIMS))
            place.progress(done / len(claims.CLAIMS), words)
        try:
            found[claim] = Finding(claim, checked(claim))
        except queue.FullError:  # nothing is said of a statement that could not be checked yet
            place.empty()
            raise
        except ValueError as error:
            found[claim] = Finding(claim, None, refusal(error))
    place.empty()
    return found
