"""The steps from MHA to MLA, one change each, and the runs of the plan that are missing."""

from functools import partial
from itertools import pairwise

import numpy as np
import streamlit as st

from kvcount.lazy import LazyModule
from mla_engine import figures
from mla_engine.language_model.study import LEAST_SEEDS, Spread, differ
from ui.pages.quality import names
from ui.pages.quality.curves import answers, band
from ui.pages.quality.verdict import runs, verdict
from ui.pages.quality.view import View
from ui.parts import charts, prose
from ui.words.numbers import count, points
from ui.words.text import listed, sentences, t

pd = LazyModule("pandas")

HEIGHT = 380
NOTHING = Spread(np.nan, np.nan, np.nan, 0)
ROTATED = ("mha", "mha_partial")  # all dimensions, and a half


def staircase(view: View) -> None:
    """Draw right answers of every step; of what was not run there are none."""
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
        data=lambda: pd.DataFrame([answers(view, code, view.chosen.load) for code in steps]),
        file="mla_quality_staircase.csv",
    )
    prose.say(_changes(view))
    prose.say(t("quality.rotated", verdict=verdict(view, ROTATED)))


def _step(view: View, code: str) -> str:
    """Return what a step changes, in Plotly's text."""
    return t("quality.step", change=t(f"quality.change_{code}"), cached=count(view.cached(code)))


def _changes(view: View) -> str:
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


def not_run(view: View) -> None:
    """Draw the runs of the plan that have no row, and say how many had to begin again."""
    missing, (done, planned) = view.study.not_run(), runs(view)
    prose.say(t("quality.runs_all" if done == planned else "quality.runs", n=done, all=planned))
    if missing:
        rows = {
            names.variant(view, code): (
                count(view.study.plan.variants[code].seeds),
                count(len(view.study.of(code))),
                listed(map(count, seeds)),
            )
            for code, seeds in missing.items()
        }
        columns = [t(f"quality.column_{name}") for name in ("planned", "run", "missing")]
        st.table(pd.DataFrame.from_dict(rows, orient="index", columns=columns))
    again = [row.attempts for row in view.study.rows if row.attempts > 1]
    if again:
        prose.say(t("quality.anew", n=count(len(again)), most=count(max(again))))
