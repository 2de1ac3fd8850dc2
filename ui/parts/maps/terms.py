"""Where one number of an attention map comes from: products, sum, scale, parts, softmax."""

import math
from dataclasses import dataclass

import numpy as np

from mla_engine.figures import symbol_html
from mla_engine.symbols import SYMBOLS
from ui.parts.maps.run import Run
from ui.words.numbers import count
from ui.words.text import safe, t, tooltip

TERMS = 6  # products written out; the rest is summed
SIGNIFICANT = 4
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Part:
    """One dot product: two vectors, what they add up to, and the part of the logit that it is."""

    left_code: str
    right_code: str
    code: str
    left: np.ndarray
    right: np.ndarray
    value: float  # scaled, as the engine has it

    @property
    def products(self) -> np.ndarray:
        """Element by element, float64."""
        return self.left.astype(np.float64) * self.right

    @property
    def dot(self) -> float:
        """Their sum."""
        return float(self.products.sum())

    @property
    def rest(self) -> float:
        """The sum of the products that are not written out."""
        return float(self.products[TERMS:].sum())


@dataclass(frozen=True)
class Provenance:
    """One cell's way from the vectors to the probability; `capped` is None without a soft cap."""

    parts: tuple[Part, ...]
    scale: float
    cap: float | None
    logit: float
    visible: bool
    window: int | None  # of the sliding window that hides it, if one does
    peak: float  # the largest logit that the query sees
    total: float  # the sum of exponentials over the keys that it sees
    n_visible: int
    share: float
    temperature: float

    @property
    def exponential(self) -> float:
        """The cell's own exponential; nothing where it is masked."""
        return math.exp((self.logit - self.peak) / self.temperature) if self.visible else 0.0

    @property
    def before_cap(self) -> float:
        """The logit as the scaled dot product alone."""
        return self.scale * self.parts[0].dot if self.cap else self.logit


def provenance(
    run: Run, attention: np.ndarray, head: int, cell: tuple[int, int], causal: bool, heat: float
) -> Provenance:
    """Follow the cell (query, key) of `head`; `attention` [h,t,s] is what the map shows."""
    query, key = cell
    place = run.heads.index(head)
    logits = run.logits[place, query].astype(np.float64)
    seen = run.mask[query] if causal else np.ones_like(run.mask[query])
    peak = float(logits[seen].max())
    return Provenance(
        parts=_parts(run, head, query, key),
        scale=run.config.scale,
        cap=getattr(run.config, "logit_softcap", None),
        logit=float(logits[key]),
        visible=bool(seen[key]),
        window=None if key > query else getattr(run.config, "sliding_window", None),
        peak=peak,
        total=float(np.exp((logits[seen] - peak) / heat).sum()),
        n_visible=int(seen.sum()),
        share=float(attention[place, query, key]),
        temperature=heat,
    )


def _parts(run: Run, head: int, query: int, key: int) -> tuple[Part, ...]:
    pairs = {
        "expanded": {"scores_C": ("q_C", "k_C"), "scores_R": ("q_R", "k_R")},
        "absorbed": {"scores_C": ("q_C_absorbed", "c_KV"), "scores_R": ("q_R", "k_R")},
        "grouped": {"scores": ("q", "k")},
    }[run.form]
    place = run.heads.index(head)
    return tuple(
        Part(
            left,
            right,
            code,
            run.matrix(left, head)[query],
            run.matrix(right, head)[key],
            float((run.logits if code == "scores" else run.tensors[code][0])[place, query, key]),
        )
        for code, (left, right) in pairs.items()
        if code in run.tensors
    )


def table(part: Part) -> str:
    """The products as an HTML table: a row each for the first TERMS, one for the rest, the sum."""
    head = "".join(
        f"<th>{text}</th>" for text in ("", _name(part.left_code), _name(part.right_code), "×")
    )
    rows = [
        (str(n), number(part.left[n]), number(part.right[n]), number(part.products[n]))
        for n in range(min(TERMS, part.left.size))
    ]
    if part.left.size > TERMS:
        more = t("attention_maps.more_terms", count=count(part.left.size - TERMS))
        rows.append((more, "", "", number(part.rest)))
    rows.append((t("attention_maps.sum"), "", "", f"<b>{number(part.dot)}</b>"))
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="terms"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _name(code: str) -> str:
    return f'<span class="tensor {SYMBOLS[code].role}"{tooltip(code)}>{symbol_html(code)}</span>'


def number(value: float, significant: int = SIGNIFICANT) -> str:
    """A number with as many digits whatever it is, so that nothing jumps."""
    mantissa, _, power = f"{value:#.{significant}g}".partition("e")
    text = mantissa.rstrip(".").replace("-", "−")
    return f"{text}×10{str(int(power)).translate(RAISED)}" if power else text


def scaled(part: Part, found: Provenance) -> str:
    """The sentence under a table: sum times scale is this part of the logit."""
    value = found.before_cap if part.code == "scores" else part.value
    return t(
        "attention_maps.scaled",
        dot=number(part.dot),
        scale=number(found.scale),
        name=_name(part.code),
        value=number(value),
    )


def steps(found: Provenance, query: str, key: str) -> list[str]:
    """The sentences from the parts to the probability."""
    lines = []
    if len(found.parts) > 1:
        values = [number(part.value) for part in found.parts]
        lines.append(
            t(
                "attention_maps.added",
                content=values[0],
                position=values[1],
                logit=number(found.logit),
            )
        )
    if found.cap:
        values = {"cap": number(found.cap), "before": number(found.before_cap)}
        lines.append(t("attention_maps.capped", **values, logit=number(found.logit)))
    if not found.visible:
        why = "attention_maps.hidden_window" if found.window else "attention_maps.hidden"
        return [*lines, t(why, query=safe(query), target=safe(key), window=found.window)]
    lines.append(
        t(
            "attention_maps.softmax",
            logit=number(found.logit),
            peak=number(found.peak),
            temperature=number(found.temperature),
            exponential=number(found.exponential),
            total=number(found.total),
            count=count(found.n_visible),
            share=number(found.share),
        )
    )
    return lines
