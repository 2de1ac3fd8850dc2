"""The pictures of the page quality, and the question that is drawn over the first."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.figures import Band
from mla_engine.language_model.study import Spread
from mla_engine.language_model.texts import TASKS
from ui.pages.quality import names, tables, words
from ui.pages.quality.view import PAIR, View, loads
from ui.parts import charts, prose
from ui.parts.questions import Dot, Question, choice, curves
from ui.words.numbers import count
from ui.words.text import listed, t

PICTURE, BELOW, STEPS = 390, 420, 380
NOTHING = Spread(np.nan, np.nan, np.nan, 0)
CHART = "quality:cache"
BELOW_IT = ("quality:load", "quality:distance", "quality:loss", "quality:staircase")
HIDES = ("lead", "quality_verdict", *BELOW_IT)  # what tells the answer of the question
GIVEN = "mha"  # the point from which on its curves are drawn
CURVES = (GIVEN, "gqa", "mqa"), ("mla_64", "mla", "mla_16")


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
    charts.show(fig, CHART, alt=alt, data=data, file="mla_quality_cache.csv")


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
    shown = [code for code in view.caches if means[code]]
    if not shown:
        prose.say(t("quality.no_loss"))
        return
    each = {code: list(study.losses(code).values()) for code in shown}
    every = [loss for curves in each.values() for curve in curves for loss in curve.values()]
    fig = partial(
        figures.band_lines,
        {label(code): band(means[code], 1) for code in shown},
        looks={label(code): names.its_look(code) for code in shown},
        titles=(t("quality.axis_step"), t("quality.axis_loss")),
        singles={label(code): [(list(one), list(one.values())) for one in each[code]]
                 for code in shown},
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


def question(view: View) -> Question | None:
    """Ask for the curves from MHA on, whether MQA or MLA loses more; None where none were run."""
    if not view.compared:
        return None
    lines = [[code for code in curve if code in view.caches] for curve in CURVES]
    free = [code for line in lines for code in line if code != GIVEN]
    found = {code: words.share(view.accuracy(code)) for code in PAIR}
    drew = {code: f"{{{free.index(code)}}}" for code in PAIR}
    return curves(
        "quality",
        t("quality.guess", cached=count(view.cached(PAIR[0]))),
        [_dots(view, line) for line in lines],
        true=listed(f"{names.variant(view, code)} {share}" for code, share in found.items()),
        told=t("quality.drew", **drew, **{f"{code}_found": found[code] for code in PAIR}),
        why=words.verdict(view),
        over=CHART,
        of_class=_of_class(view),
        hides=HIDES,
    )


def _of_class(view: View) -> Question:
    """Ask a class which of the two loses more: the one that the verdict names, or neither."""
    said = {code: names.variant(view, code) for code in PAIR}
    said[None] = t("quality.guess_neither")
    return choice(
        "quality",
        t("quality.guess_which", cached=count(view.cached(PAIR[0])), where=words.where(view)),
        list(said.values()),
        list(said).index(view.loser()),
        why=words.verdict(view),
        hides=(CHART, *HIDES),
    )


def _dots(view: View, codes: Sequence[str]) -> list[Dot]:
    return [
        Dot(
            names.variant(view, code),
            names.family(code),
            [c for c in view.caches if names.family(c) == names.family(code)].index(code),
            100 * view.accuracy(code).mean,
            given=code == GIVEN,
        )
        for code in codes
    ]
