"""One number of an attention map written out: products, sum, scale, parts, softmax."""

import math
from dataclasses import dataclass

import numpy as np
import streamlit as st

from mla_engine.figures import symbol_html
from mla_engine.symbols import SYMBOLS
from ui.pages.attention_maps import controls, words
from ui.pages.attention_maps.view import READ, RUN, View, is_whole
from ui.parts import prose
from ui.parts.maps.columns import reasons
from ui.parts.maps.run import Run
from ui.parts.maps.view import CELL, Maps
from ui.parts.maps.words import block_facts, shown
from ui.settings.page import Panel
from ui.words.numbers import count, number
from ui.words.text import t, tooltip

WRITTEN = 6  # products written out; the rest is summed


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
        return float(self.products[WRITTEN:].sum())


@dataclass(frozen=True)
class Terms:
    """One cell's way from the vectors to the probability; `cap` is None without a soft cap."""

    parts: tuple[Part, ...]
    scale: float
    cap: float | None
    logit: float
    visible: bool
    window: int | None  # of the sliding window that hides it, if one does
    topk: int | None  # keys that an indexer chose in its place, if one did
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
        """The logit as only the scaled dot product."""
        return self.scale * self.parts[0].dot if self.cap else self.logit


def terms(maps: Maps) -> Terms:
    """Follow the chosen cell of the chosen head."""
    config, seen, cell = maps.run.config, maps.mask[maps.query], (maps.query, maps.key)
    logits = maps.run.logits[maps.place, maps.query].astype(np.float64)
    peak = float(logits[seen].max())
    why = next((why for why, cells in reasons(maps.run, maps.mask).items() if cells[cell]), "")
    return Terms(
        parts=_parts(maps.run, maps.head, maps.query, maps.key),
        scale=config.scale,
        cap=config.logit_softcap,
        logit=float(logits[maps.key]),
        visible=bool(seen[maps.key]),
        window=config.window if why == "outside" else None,
        topk=config.index_topk if why == "not_chosen" else None,
        peak=peak,
        total=float(np.exp((logits[seen] - peak) / maps.temperature).sum()),
        n_visible=int(seen.sum()),
        share=maps.share,
        temperature=maps.temperature,
    )


def _parts(run: Run, head: int, query: int, key: int) -> tuple[Part, ...]:
    place = run.heads.index(head)
    return tuple(
        Part(
            left,
            right,
            code,
            run.matrix(left, head)[query],
            run.matrix(right, head)[at],
            float((run.logits if code == "scores" else run.tensors[code][0])[place, query, at]),
        )
        for code, (left, right), at in _products(run, key)
    )


def _products(run: Run, key: int) -> list[tuple[str, tuple[str, str], int]]:
    """Each part of a column's logit, the codes of query and key, and the key's place in its own.

    A word and an entry have one of their own each, and a sink has none.
    """
    if not run.sinks:
        return [(code, pair, key) for code, pair in run.scores.items()]
    entry = key - len(run.words)
    if entry < 0:
        code, pair = next(iter(run.scores.items()))
        return [(code, pair, key)]
    return [("scores_E", run.scores["scores_E"], entry)] if entry < run.entries else []


def draw(maps: Maps) -> None:
    """Write out how the chosen cell's number comes about."""
    found = terms(maps)
    tables = st.container(key="maps_terms")
    for column, part in zip(tables.columns(2), found.parts, strict=False):
        with column:
            st.html(table(part))
            prose.say(scaled(part, found))
    if not found.parts:
        prose.say(t("attention_maps.of_sink", logit=number(found.logit)))
    for line in steps(found, maps):
        prose.say(line)


def table(part: Part) -> str:
    """The products as an HTML table: a row each for those written out, the rest, the sum."""
    names = ("", _name(part.left_code), _name(part.right_code), "×")
    rows = [
        (str(n), number(part.left[n]), number(part.right[n]), number(part.products[n]))
        for n in range(min(WRITTEN, part.left.size))
    ]
    if part.left.size > WRITTEN:
        more = t("attention_maps.more_terms", count=count(part.left.size - WRITTEN))
        rows.append((more, "", "", number(part.rest)))
    rows.append((t("attention_maps.sum"), "", "", f"<b>{number(part.dot)}</b>"))
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="terms"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _name(code: str) -> str:
    return f'<span class="tensor {SYMBOLS[code].role}"{tooltip(code)}>{symbol_html(code)}</span>'


def scaled(part: Part, found: Terms) -> str:
    """The sentence under a table: sum times scale is this part of the logit."""
    value = found.before_cap if part.code == "scores" else part.value
    return t(
        "attention_maps.scaled",
        dot=number(part.dot),
        scale=number(found.scale),
        name=_name(part.code),
        value=number(value),
    )


def steps(found: Terms, maps: Maps) -> list[str]:
    """The sentences from the parts to the probability."""
    lines = []
    if len(found.parts) > 1:
        content, position = (number(part.value) for part in found.parts)
        values = {"content": content, "position": position, "logit": number(found.logit)}
        lines.append(t("attention_maps.added", **values))
    if found.cap:
        values = {"cap": number(found.cap), "before": number(found.before_cap)}
        lines.append(t("attention_maps.capped", **values, logit=number(found.logit)))
    if found.visible:
        kind = "_pooled" if maps.run.pooled else "_sink" if maps.run.sinks else ""
        return [*lines, _softmax(found, f"softmax{kind}")]
    return [*lines, _hidden(found, maps)]


def _hidden(found: Terms, maps: Maps) -> str:
    """Return the sentence on why the query does not see the key."""
    plain = shown(maps)
    words = {name: plain[name] for name in ("query", "target")}
    entry = "_entry" if maps.key >= len(maps.run.words) else ""
    if found.window:
        return t("attention_maps.hidden_window", window=count(found.window), **words)
    if found.topk and maps.run.blocks:
        return t("attention_maps.hidden_choice_block", **block_facts(maps))
    if found.topk:
        return t(f"attention_maps.hidden_choice{entry}", k=count(found.topk), **words)
    return t(f"attention_maps.hidden{entry}", **words)


def _softmax(found: Terms, key: str) -> str:
    return t(
        f"attention_maps.{key}",
        logit=number(found.logit),
        peak=number(found.peak),
        temperature=number(found.temperature),
        exponential=number(found.exponential),
        total=number(found.total),
        count=count(found.n_visible),
        share=number(found.share),
    )


def _draw(view: View) -> None:
    prose.say(words.say(view, "origin_look"))
    draw(view.maps)


PANEL = Panel(
    name="cell",
    settings=(*RUN, *READ, *CELL),
    there=is_whole,
    alone=controls.alone,
    title=lambda view: words.say(view, "origin_title"),
    draw=_draw,
)
