"""A statement on the screen: formulas set as formulas, computed numbers bold, verdict by mark."""

import html
import re
from collections import Counter

from mla_engine.claims import CLAIMS, VERDICTS
from mla_engine.symbols import SYMBOLS
from ui.parts.findings import Finding, Findings
from ui.words.text import t, tensor

MARKS = {
    "holds": "✓",
    "fails": "✗",
    "imprecise": "≈",
    "depends": "◐",
    "not_decidable": "?",
    "failed": "!",
}
_BEGIN, _END = "\x01", "\x02"
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


class _Computed:
    """A value of the evidence, marked in the text so that it can be set bold."""

    def __init__(self, value: float | int | str) -> None:
        self.value = value

    def __format__(self, spec: str) -> str:
        spec = spec or ("," if isinstance(self.value, int) else "")
        return f"{_BEGIN}{format(self.value, spec)}{_END}"


def _evidence(finding: Finding) -> str:
    if not finding.verdict:
        return t("claims.unchecked", reason=finding.reason)
    values = {f.name: _Computed(f.value) for f in finding.verdict.evidence}
    return t(f"claims.{finding.id}_sentence", **values)


def plain(finding: Finding) -> str:
    """The evidence as text."""
    return _evidence(finding).replace(_BEGIN, "").replace(_END, "")


def typeset(text: str) -> str:
    """Plain notation as HTML: c_KV, W_q, R_(t-i), d_h^R, 4e-16; tensors in their colours."""
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
    text = re.sub("\x03(\\d+)\x04", lambda m: kept[int(m[1])], text)
    return text.replace(_BEGIN, "<b>").replace(_END, "</b>")


def headline(found: Findings) -> str:
    """The title: how many of the statements hold."""
    count = tally(found)
    others = count.total() - count["holds"] - count["fails"]
    return t(
        "claims.title",
        all=count.total(),
        holds=count["holds"],
        fails=count["fails"],
        others=others,
    )


def tally(found: Findings) -> Counter[str]:
    """How many statements have each verdict."""
    return Counter(finding.code for finding in found.values())


def verdict_options(found: Findings) -> dict[str, str]:
    """The choices of a verdict: mark, word and how many statements have it."""
    count = tally(found)
    every = {"all": t("claims.all_verdicts", n=len(found))}
    return every | {
        code: f"{MARKS[code]} {t(f'claims.{code}')} {count[code]}"
        for code in (verdict.replace(" ", "_") for verdict in VERDICTS)
    }


def source_options() -> dict[str, str]:
    """The choices of a source: the letter of its statements and its name."""
    letters = dict.fromkeys(claim[0] for claim in CLAIMS)
    every = {"all": t("claims.all_sources")}
    return every | {letter: f"{letter}: {t(f'claims.source_{letter}')}" for letter in letters}


def board(shown: list[Finding]) -> str:
    """Mark and id of these statements, a row a source."""
    rows = []
    for letter in dict.fromkeys(finding.id[0] for finding in shown):
        chips = "".join(
            f'<li class="{f.code}" title="{html.escape(t(f"claims.{f.id}_statement"))}">'
            f'<b aria-label="{t(f"claims.{f.code}")}" role="img">{MARKS[f.code]}</b> {f.id}</li>'
            for f in shown
            if f.id[0] == letter
        )
        rows.append(f"<p>{t(f'claims.source_{letter}')}</p><ul>{chips}</ul>")
    return f'<div class="claims-board">{"".join(rows)}</div>'


def card(finding: Finding) -> str:
    """One statement: verdict, what is stated, what was computed, how, and who states it."""
    key = f"claims.{finding.id}"
    parts = {
        "statement": typeset(t(f"{key}_statement")),
        "evidence": f"<i>{t('claims.computed')}</i> {typeset(_evidence(finding))}",
        "method": f"<i>{t('claims.method')}</i> {typeset(t(f'{key}_method'))}",
        "source": f"<i>{t('claims.source')}</i> {t(f'claims.source_{finding.id[0]}')}",
    }
    words = "".join(f'<p class="{name}">{text}</p>' for name, text in parts.items())
    word = t(f"claims.{finding.code}")
    return (
        f'<div class="claim"><p class="verdict {finding.code}">'
        f"<b>{MARKS[finding.code]}</b> {word} <small>{finding.id}</small></p>"
        f"<div>{words}</div></div>"
    )
