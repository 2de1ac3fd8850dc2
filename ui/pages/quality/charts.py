"""The pictures of the page quality."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.figures import Band
from mla_engine.language_model.study import Spread
from mla_engine.language_model.texts import TASKS
from ui.pages.quality import names, tables, words
from ui.pages.quality.view import View, loads
from ui.parts import charts, prose
from ui.words.text import t

PICTURE, BELOW, STEPS = 390, 420, 380
NOTHING = Spread(np.nan, np.nan, np.nan, 0)


def by_cache(view: View) -> None:
    """Right answers over what is cached: a mark a variant, a bar from seed to seed."""
    kinds = {kind: [c for c in view.caches if names.family(c) == kind] for kind in names.FAMILIES}
    kinds = {kind: codes for kind, codes in kinds.items() if codes}
    bands = {
        kind: band({view.cached(code): view.accuracy(code) for code in codes})
        for kind, codes in kinds.items()
    }
    fig = partial(
        figures.band_marks,
        bands,
        looks={kind: names.its_look(kind.lower()) for kind in kinds},
        titles=(t("quality.axis_cache"), t("quality.axis_right")),
        level=_guessing(view),
        height=PICTURE,
    )
    data, alt = partial(tables.by_cache, view), words.alt_cache(view)
    charts.show(fig, "quality:cache", alt=alt, data=data, file="mla_quality_cache.csv")


def _guessing(view: View) -> tuple[str, float] | None:
    """What a blind guess gets right, if one task is shown: each has its own."""
    return view.one_task and (t("quality.guessing"), 100 * TASKS[view.one_task].guess)


def by_load(view: View) -> None:
    """Right answers over the load, a line a variant."""
    found = {
        code: {load: view.accuracy_at(code, load) for load in loads(view.task)}
        for code in view.caches
    }
    fig = _lines(view, found, t(f"quality.load_{view.task}"), ticks=loads(view.task))
    data, alt = partial(tables.by_load, view), words.alt_load(view)
    charts.show(fig, "quality:load", alt=alt, data=data, file="mla_quality_load.csv")


def by_distance(view: View) -> None:
    """Recall over how far back the pair stood, all loads together."""
    found = {code: view.study.by_distance(code) for code in view.caches}
    fig = _lines(view, found, t("quality.axis_distance"))
    data, alt = partial(tables.by_distance, view), words.alt_distance(view)
    charts.show(fig, "quality:distance", alt=alt, data=data, file="mla_quality_distance.csv")


def losses(view: View) -> None:
    """The loss during training: the mean of a variant, and thin each of its seeds."""
    label, study = partial(names.variant, view), view.study
    means = {code: study.loss(code) for code in view.caches}
    drawn = [code for code in view.caches if means[code]]
    if not drawn:
        prose.say(t("quality.no_loss"))
        return
    each = {code: list(study.losses(code).values()) for code in drawn}
    every = [loss for curves in each.values() for curve in curves for loss in curve.values()]
    fig = partial(
        figures.band_lines,
        {label(code): band(means[code], 1) for code in drawn},
        looks={label(code): names.its_look(code) for code in drawn},
        titles=(t("quality.axis_step"), t("quality.axis_loss")),
        singles={label(code): [(list(one), list(one.values())) for one in each[code]]
                 for code in drawn},
        limits=(min(every) / 1.1, 1.1 * max(every)),
        log=True,
        height=BELOW,
    )  # fmt: skip
    data, alt = partial(tables.losses, view), words.alt_loss(view)
    charts.show(fig, "quality:loss", alt=alt, data=data, file="mla_quality_loss.csv")


def staircase(view: View) -> None:
    """From MHA to MLA, one change a step."""
    steps = view.study.plan.staircase
    found = {place: view.accuracy(code) or NOTHING for place, code in enumerate(steps)}
    fig = partial(
        figures.band_bars,
        [words.step(view, code) for code in steps],
        band(found),
        looks=[names.its_look(code) for code in steps],
        axis=t("quality.axis_right"),
        totals=[words.share(view.accuracy(code)) for code in steps],
        height=STEPS,
    )
    data, alt = partial(tables.staircase, view), words.alt_staircase(view)
    charts.show(fig, "quality:staircase", alt=alt, data=data, file="mla_quality_staircase.csv")
    prose.say(words.changes(view))
    prose.say(words.rotated(view))


def not_run(view: View) -> None:
    """The runs of the plan that have no row, and how many had to begin again."""
    table = tables.not_run(view)
    prose.say(words.runs(view))
    if len(table):
        st.table(table)
    if anew := words.anew(view):
        prose.say(anew)


def band(found: Mapping[float, Spread], scale: float = 100) -> Band:
    """Spreads over their places, by default as percentages."""
    spreads = found.values()
    mean, least, most = (
        scale * np.array(side)
        for side in zip(*((one.mean, one.least, one.most) for one in spreads), strict=True)
    )
    return Band(list(found), mean, least, most)


def _lines(
    view: View,
    found: Mapping[str, Mapping[int, Spread]],
    axis: str,
    ticks: Sequence[int] | None = None,
) -> charts.Drawing:
    return partial(
        figures.band_lines,
        {names.variant(view, code): band(spreads) for code, spreads in found.items() if spreads},
        looks={names.variant(view, code): names.its_look(code) for code in found},
        titles=(axis, t("quality.axis_right")),
        ticks=ticks,
        height=BELOW,
    )
