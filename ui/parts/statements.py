"""The statements of the sources: each with the verdict of its check, and in words."""

import html
import re
from dataclasses import dataclass

import streamlit as st
import torch

from mla_engine import claims
from mla_engine.symbols import SYMBOLS
from ui.engine import queue
from ui.parts import prose
from ui.words.numbers import prefixed
from ui.words.text import listed, named, t, tensor

MILLION = "million"  # how a text writes what is counted in millions
_BEGIN, _END = "\x01", "\x02"
_LIST = re.compile(r"[^,:]+(: [\d.]+)?(, [^,:]+(: [\d.]+)?)*")  # names, or names with numbers
_TENSOR = re.compile(
    rf"(?<![\w^])({'|'.join(sorted((c for c in SYMBOLS if '_' in c), key=len, reverse=True))})"
    r"(\^T)?(?!\w)",
    re.ASCII,
)
_SCRIPTS = (  # W_q, R_(t-i), R^(d x d_v), A^-T
    (r"_\(([^)]*)\)", r"<sub>\1</sub>"),
    (r"\^\(([^)]*)\)", r"<sup>\1</sup>"),
    (r"_(\w+)", r"<sub>\1</sub>"),
    (r"\^(-?\w+)", r"<sup>\1</sup>"),
)


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
    """Return a verdict of the engine as a word for keys and links."""
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
    """Return the verdict of one statement, computed once a server.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    with queue.turn(), torch.inference_mode():
        return claims.check(claim)


class _Computed:
    """A value of the evidence, marked in the text so that it can be set bold.

    What was counted in millions is written in full words as MILLION.
    """

    def __init__(self, value: float | int | str) -> None:
        self.value = relisted(value) if isinstance(value, str) else value

    def __format__(self, spec: str) -> str:
        if spec == MILLION:
            return f"{_BEGIN}{prefixed(1e6 * self.value, 4)}{_END}"
        spec = spec or ("," if isinstance(self.value, int) else "")
        return f"{_BEGIN}{format(self.value, spec)}{_END}"


def relisted(text: str) -> str:
    """Return the engine's list ("q: 2, k: 3") with the separators of the reader's language."""
    if not _LIST.fullmatch(text):
        return text
    return listed(named(*item.split(": ")) if ": " in item else item for item in text.split(", "))


def statement(claim: str) -> str:
    """Return the statement."""
    return t(f"statements.{claim}_statement")


def method(claim: str) -> str:
    """Return how it is checked."""
    return t(f"statements.{claim}_method")


def source(letter: str) -> str:
    """Return the kind of document that states it."""
    return t(f"statements.source_{letter}")


def verdict(code: str) -> str:
    """Return a verdict's name."""
    return t(f"statements.{code}")


def evidence(finding: Finding) -> str:
    """Return the computed evidence as text."""
    return _evidence(finding).replace(_BEGIN, "").replace(_END, "")


def evidence_html(finding: Finding) -> str:
    """Return the computed evidence as HTML with bold numbers."""
    return typeset(_evidence(finding)).replace(_BEGIN, "<b>").replace(_END, "</b>")


def _evidence(finding: Finding) -> str:
    if not finding.verdict:
        return t("statements.unchecked", reason=finding.reason)
    values = {figure.name: _Computed(figure.value) for figure in finding.verdict.evidence}
    return t(f"statements.{finding.id}_sentence", **values)


def typeset(text: str) -> str:
    """Return plain notation as HTML: c_KV, W_q, R_(t-i), d_h^R, 4e-16; tensors in colours."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        span = tensor(found[1])
        kept.append(f"({span})<sup>T</sup>" if found[2] else span)
        return f"\x03{len(kept) - 1}\x04"

    text = _TENSOR.sub(keep, html.escape(text, quote=False))
    text = re.sub(r" x (?=d_)", " × ", text)
    for pattern, script in _SCRIPTS:
        text = re.sub(pattern, script, text, flags=re.ASCII)
    text = re.sub(r"\b0e\+00\b", "0", text)
    text = re.sub(
        r"(\d)e([+-])0*(\d+)",
        lambda m: f"{m[1]}×10<sup>{'−' * (m[2] == '-')}{m[3]}</sup>",
        text,
    )
    return re.sub("\x03(\\d+)\x04", lambda m: kept[int(m[1])], text)
