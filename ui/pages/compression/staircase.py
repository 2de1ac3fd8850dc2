"""The steps from MHA to MLA, one change each."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.language_model.study import LEAST_SEEDS, Spread, differ
from ui.pages.compression import names
from ui.pages.compression.curves import answers, band
from ui.pages.compression.quality import Quality
from ui.pages.compression.verdict import verdict
from ui.parts import charts, prose
from ui.words.numbers import count, points
from ui.words.text import listed, sentences, t

HEIGHT = 380
NOTHING = Spread(np.nan, np.nan, np.nan, 0)
ROTATED = ("mha", "mha_partial")  # all dimensions, and a half


def draw(view: Quality) -> None:
    """Draw right answers of every step; of what was not run there are none."""
    st.subheader(t("quality.section_staircase"), anchor=False)
    prose.say(t("quality.staircase_words"))
    steps = view.study.plan.staircase
    found = {place: view.accuracy(code) or NOTHING for place, code in enumerate(steps)}
    figure = partial(
        figures.band_bars,
        [_step(view, code) for code in steps],
        band(found),
        looks=[names.its_look(code) for code in steps],
        axis=t("quality.axis_right"),
        totals=[names.share(view.accuracy(code)) for code in steps],
        height=HEIGHT,
    )
    charts.show(
        figure,
        "quality:staircase",
        alt=t("quality.alt_staircase", each=names.each(view, steps)),
        data=lambda: pd.DataFrame([answers(view, code, view.load) for code in steps]),
        file="mla_quality_staircase.csv",
    )
    prose.say(_changes(view))
    prose.say(t("quality.rotated", verdict=verdict(view, ROTATED)))


def _step(view: Quality, code: str) -> str:
    """Return what a step changes, in Plotly's text."""
    return t("quality.step", change=t(f"quality.change_{code}"), cached=count(view.cached(code)))


def _changes(view: Quality) -> str:
    """Return which steps move every seed, and which lie within their spread."""
    every, within = [], []
    for before, after in pairwise(view.study.plan.staircase):
        one, other = (view.accuracy(code) for code in (before, after))
        if one and other and min(one.seeds, other.seeds) >= LEAST_SEEDS:
            moved = differ(one, other)
            facts = {
                "change": t(f"quality.change_{after}"),
                "points": points(other.mean - one.mean),
            }
            (every if moved else within).append(t("quality.change", **facts))
    if not every and not within:
        return t("quality.changes_few", least=count(LEAST_SEEDS))
    said = {"every": every, "within": within}
    return sentences(t(f"quality.changes_{n}", which=listed(w)) for n, w in said.items() if w)
