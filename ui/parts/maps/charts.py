"""The charts of a head's maps, each with its alternative text and the numbers behind it."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.figures import symbol_html
from ui.parts import charts, prose
from ui.parts.charts import map_words, named
from ui.parts.maps.columns import breaks, left_out
from ui.parts.maps.view import Maps
from ui.parts.maps.words import facts
from ui.settings import state
from ui.words.text import t

LARGE, LOW, BESIDE = 560, 430, 430  # pixels high
FEW = 16  # words of a sentence
PANEL_OPTIONS = {"numbers": False, "width": 200}  # what a small projector leaves to each of a pair


def thumbnails(maps: Maps) -> None:
    """Draw all heads that were run, as tiles; a click chooses one."""
    run = maps.run
    fig = partial(
        figures.head_tiles,
        maps.attention,
        run.heads,
        tokens=(run.words, maps.columns),
        mask=maps.mask,
        chosen=maps.place,
        height=_fitting(maps),
        words=map_words(),
    )
    _show(fig, "heads", t("maps.alt_heads", **facts(maps)), partial(_of_heads, maps))


def _of_heads(maps: Maps) -> pd.DataFrame:
    """Return the maps of all heads that were run, one below the other."""
    run = maps.run
    rows = [f"{head} {word}" for head in run.heads for word in run.words]
    values = np.where(maps.mask, maps.attention, np.nan).reshape(len(rows), -1)
    return named(values, rows, maps.columns)


def large(maps: Maps) -> None:
    """Draw the chosen head's attention."""
    _attention(maps, "large", height=_fitting(maps))


def _fitting(maps: Maps) -> int:
    trained = maps.model.is_trained
    return fitting(maps.run.words, LOW, LARGE) if trained else LARGE


def fitting(words: Sequence[str], low: int, high: int) -> int:
    """Return a map's height: low with a few words, so that the last one's row is seen at once.

    A lecture has no sidebar and no card above it, and lowers its charts by itself.
    """
    return low if len(words) <= FEW and not state.settings()["lecture"] else high


def parts(maps: Maps) -> None:
    """Draw content, position and summed logits on one scale, and the attention beside them."""
    panels = {code: maps.matrix(code) for code in (*maps.parts, "scores")}
    limit = figures.shared_limit(*panels.values())
    *columns, last = st.columns(len(panels) + 1)
    for column, (code, values) in zip(columns, panels.items(), strict=True):
        with column:
            alone = code == "scores_R" and maps.run.config.rotation is None
            prose.say(t("maps.panel_shared" if alone else f"maps.panel_{code}"))
            _scores(maps, code, values, limit)
    with last:
        prose.say(t("maps.panel_attention"))
        _attention(maps, "attention", height=BESIDE, **PANEL_OPTIONS)


def _attention(maps: Maps, chart: str, **options: object) -> None:
    fig = partial(
        figures.attention_map,
        maps.matrix("attention"),
        maps.run.words,
        maps.columns,
        head=str(maps.head),
        name=t("maps.share"),
        cell=(maps.query, maps.key),
        words=map_words(),
        left_out=left_out(maps.run, maps.mask),
        breaks=breaks(maps.run),
        **options,
    )
    kind = "pooled" if maps.run.pooled else "sink" if maps.run.sinks else "attention"
    alt = t(f"maps.alt_{kind}", **facts(maps))
    _show(fig, chart, alt, partial(_of_head, maps, "attention"))


def _scores(maps: Maps, code: str, values: np.ndarray, limit: float) -> None:
    fig = partial(
        figures.score_map,
        values,
        maps.run.words,
        maps.columns,
        limit=limit,
        head=str(maps.head),
        name=symbol_html(code),
        cell=(maps.query, maps.key),
        height=BESIDE,
        words=map_words(),
        left_out=left_out(maps.run, maps.mask),
        breaks=breaks(maps.run),
        **PANEL_OPTIONS,
    )
    alt = t("maps.alt_scores", name=t(f"symbols.{code}"), **facts(maps))
    _show(fig, code, alt, partial(_of_head, maps, code))


def _of_head(maps: Maps, chart: str) -> pd.DataFrame:
    """Return one map of the chosen head."""
    return named(maps.matrix(chart), maps.run.words, maps.columns)


def _show(fig: charts.Drawing, chart: str, alt: str, table: charts.Table) -> None:
    charts.show(fig, f"chart:{chart}", alt=alt, data=table, clicks=chart)
