"""The findings of the checks of statements, computed once a server."""

from dataclasses import dataclass

import streamlit as st
import torch

from mla_engine import claims
from ui.engine import queue
from ui.parts import prose


@dataclass(frozen=True)
class Finding:
    """A statement's id with its verdict, or with the reason why its check did not run."""

    id: str
    verdict: claims.Verdict | None
    reason: str = ""

    @property
    def code(self) -> str:
        """The verdict as a word for keys and links; "failed" without one."""
        return code_of(self.verdict.verdict) if self.verdict else "failed"

    @property
    def source(self) -> str:
        """The letter of the source that states it."""
        return self.id[0]


def code_of(verdict: str) -> str:
    """A verdict of the engine as a word for keys and links."""
    return verdict.replace(" ", "_")


def finding(claim: str) -> Finding:
    """Return the finding of one statement's check.

    Raises:
        FullError: too much waits to be run, so that nothing can be said of the statement yet.
    """
    try:
        return Finding(claim, checked(claim))
    except queue.FullError:
        raise
    except ValueError as error:
        return Finding(claim, None, prose.reason(error))


@st.cache_data(max_entries=64, show_spinner=False)
def checked(claim: str) -> claims.Verdict:
    """The verdict of one statement, computed once a server.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    with queue.turn(), torch.inference_mode():
        return claims.check(claim)
