"""The bytes that a sequence stores and its next token reads: of models side by side, and of all."""

from collections import Counter
from functools import partial

import pandas as pd
import streamlit as st

from kvcount import MODELS
from kvcount.levers import levers
from mla_engine import figures
from ui.pages.after_mla.view import END, PAIR, SAME, Shown, View, divided, factor
from ui.parts import charts
from ui.settings.parsers import Setting, power_of_two
from ui.settings.sizes import LENGTHS
from ui.words.numbers import count, size, tied_size
from ui.words.sources import cited
from ui.words.text import listed, named, parted, sentences, t

SETTINGS = {
    "am_context": Setting(
        2**17, power_of_two(2**10, 2**20), "select_slider", options=LENGTHS, recorded=True
    )
}
READ, ROW = 90, 58  # pixels; a row has two bars


def sentence(view: View) -> str:
    """Return what the chosen model stores and reads at the context."""
    shown = view.shown
    facts = {
        "model": shown.said,
        "context": count(view.chosen.context),
        "stored": tied_size(shown.stored),
        "read": tied_size(shown.read),
    }
    key = "less" if shown.read < shown.stored / SAME else "all"
    told = t(f"after_mla.reading_{key}", **facts, times=factor(shown.stored / max(shown.read, 1)))
    if shown.fixed < shown.stored * (SAME - 1):
        return told
    return sentences([told, t("after_mla.fixed", fixed=tied_size(shown.fixed))])


def draw(view: View) -> None:
    """Draw what a sequence stores, and what its next token reads of it."""
    names = ["<br>".join(figures.rows(one.label)) for one in view.milestones]
    parts = {
        t("after_mla.stored"): [one.stored / 2**30 for one in view.milestones],
        t("after_mla.read"): [one.read / 2**30 for one in view.milestones],
    }
    least = min(map(min, parts.values()))
    ends = [
        divided(tied_size(one.stored), one.stored / max(one.read, 1), "{}<br>{}")
        for one in view.milestones
    ]
    fig = partial(
        figures.bars,
        names,
        parts,
        axis=t("after_mla.axis_gib"),
        stacked=False,
        log=True,
        roles=PAIR,
        totals=ends,
        limits=(least / 2, END * max(map(max, parts.values()))),
        ticks="~g",
        height=READ + ROW * len(names),
    )
    each = parted(
        named(one.name, listed((size(one.stored), size(one.read)))) for one in view.milestones
    )
    alt = t("after_mla.alt_read", context=count(view.chosen.context), each=each)
    rows = [
        {
            "model": one.name,
            "context": one.context,
            "stored_bytes": one.stored,
            "read_bytes": one.read,
        }
        for one in view.milestones
    ]
    file = "mla_after_stored_read.csv"
    charts.show(fig, "after_mla:read", alt=alt, data=lambda: pd.DataFrame(rows), file=file)


def every(view: View) -> None:
    """Draw the table of all published models, the smallest cache at the context first."""
    rows = sorted(
        (_row(view.of(key)) for key in MODELS), key=lambda row: row[t("after_mla.column_stored")]
    )
    table = pd.DataFrame(rows)
    st.dataframe(table, hide_index=True)
    charts.download(lambda: table, "mla_caches_of_models.csv", "after_mla:every")


def _row(one: Shown) -> dict[str, object]:
    """Return a model's row in the table, by the names of the columns."""
    found = levers(one.model, one.storage)
    kinds = Counter(layer.kind for layer in one.model.layers)
    cells = {
        "model": one.name,
        "layers": listed(f"{n} {_kind(kind)}" for kind, n in kinds.items()),
        "token": float(found.bytes_per_token) if found else 0.0,
        "stored": one.stored / 2**30,
        "read": one.read / 2**30,
        "source": cited(one.published.source),
    }
    return {t(f"after_mla.column_{name}"): cell for name, cell in cells.items()}


def _kind(kind: str) -> str:
    """Return in a word what a layer keeps; of a layer with two kinds of attention both."""
    return " + ".join(t(f"after_mla.kind_{part}") for part in kind.split("+"))
