"""Right answers over what is cached, of models trained with their cache from the start."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.figures import Band
from mla_engine.language_model.study import LEAST_SEEDS
from mla_engine.language_model.texts import TASKS
from ui.pages.compression import names
from ui.pages.compression.curves import answers, band
from ui.pages.compression.quality import EVERY_LOAD, PAIR, Quality, loads
from ui.pages.compression.verdict import runs, verdict
from ui.parts import charts, prose
from ui.parts.control import control
from ui.parts.questions import Dot, Question, choice, curves
from ui.settings import state
from ui.words.numbers import count, error_percent
from ui.words.text import listed, t

HEIGHT = 440
CHART = "quality:cache"
GIVEN = "mha"  # the point from which on the question's curves are drawn
CURVES = (GIVEN, "gqa", "mqa"), ("mla_64", "mla", "mla_16")
# What tells the answer of the question.
HIDES = (
    *("lead", "quality_line", "quality_below", "quality_verdict"),
    *("quality:load", "quality:distance", "quality:loss", "quality:staircase"),
)


def lead(view: Quality) -> tuple[str, str]:
    """Return the answers that MLA gives, beside those of MQA and MHA; else how much was run."""
    if not view.compared:
        done, planned = runs(view)
        return t("common.out_of", n=done, all=planned), t("quality.line_none", n=done, all=planned)
    mqa, mla = (view.accuracy(code).mean for code in PAIR)
    line = t(
        "quality.line",
        where=_where(view),
        cached=count(view.cached("mla")),
        all=count(view.cached("mha")),
        mqa=error_percent(mqa),
        mha=error_percent(view.accuracy("mha").mean),
        found=_found(view),
    )
    return error_percent(mla), line


def draw(view: Quality, *, leads: bool) -> None:
    """Draw the marks of every variant, its controls beside them, and what they show.

    Args:
        view: the study.
        leads: whether the page begins with it, and so has said its line.
    """
    st.subheader(t("quality.section_cache"), anchor=False)
    for damaged in view.study.refused:
        prose.refused(damaged)
    if not leads:
        number, line = lead(view)
        with st.container(key="quality_line"):
            prose.say(f"**{number}** {line}" if view.compared else line)
    picture, choices = st.columns([7, 3], gap="large")
    with choices:
        _controls(view)
        with st.container(key="quality_below"):
            prose.say(_below(view))
            for told in _upside_down(view):
                prose.say(told)
    with picture, st.container(key="quality_picture"):
        if view.caches:
            _picture(view)
        else:
            st.info(t("quality.nothing"), icon=":material/model_training:")


def _controls(view: Quality) -> None:
    """Draw task and load; another task begins with all of its loads together."""
    control("quality_task", then=lambda: state.change(quality_load=EVERY_LOAD))
    every = (EVERY_LOAD, *loads(view.task))
    control("quality_load", label=t(f"quality.load_{view.task}"), options=every)


def _picture(view: Quality) -> None:
    """Draw a mark a variant, and a bar from seed to seed."""
    kinds = {kind: [c for c in view.caches if names.family(c) == kind] for kind in names.FAMILIES}
    kinds = {kind: codes for kind, codes in kinds.items() if codes}
    bands = {
        kind: band({view.cached(code): view.accuracy(code) for code in codes})
        for kind, codes in kinds.items()
    }
    task = view.one_task  # a blind guess gets something else right in each
    figure = partial(
        figures.band_marks,
        bands,
        looks={kind: names.its_look(kind.lower()) for kind in kinds},
        titles=(t("quality.axis_cache"), t("quality.axis_seeds")),
        least=0 if task else _begin(bands),
        level=task and (t("quality.guessing"), 100 * TASKS[task].guess),
        height=HEIGHT,
    )
    charts.show(
        figure,
        CHART,
        alt=t("quality.alt_cache", each=names.each(view, view.caches)),
        data=lambda: pd.DataFrame([answers(view, c, view.load) for c in view.caches]),
        file="mla_quality_cache.csv",
    )


def _begin(bands: Mapping[str, Band]) -> int:
    """Return 50 where every seed is above it: from 0 on, all would be one flat line."""
    return 50 if min(band.least.min() for band in bands.values()) > 50 else 0


def _below(view: Quality) -> str:
    """Return which smaller caches answer less than MHA in every seed."""
    smaller = [code for code in view.caches if code != "mha"]
    seeds = [view.accuracy(code).seeds for code in (*smaller, "mha") if view.accuracy(code)]
    if min(seeds, default=0) < LEAST_SEEDS:
        return ""
    lost = [code for code in smaller if view.loser(("mha", code)) == code]
    which = listed(names.variant(view, code) for code in lost)
    return t("quality.below" if lost else "quality.below_none", which=which)


def _upside_down(view: Quality) -> Iterator[str]:
    """Say of each larger cache that answers less than the next smaller one of its kind, why.

    Where their seeds overlap that is no finding on caches: how far the training had come differs.
    """
    for kind in names.FAMILIES:
        for pair in pairwise(code for code in view.caches if names.family(code) == kind):
            more, less = (view.accuracy(code) for code in pair)
            told = more.mean < less.mean and names.share(more) != names.share(less)
            if not told or min(more.seeds, less.seeds) < LEAST_SEEDS:
                continue
            key = "less_clear" if view.loser(pair) else "less_null"
            yield t(f"quality.{key}", **_ranges(view, pair)) + _unfinished(view, pair)


def _ranges(view: Quality, pair: tuple[str, str]) -> dict[str, str]:
    said = {}
    for place, code in zip(("more", "less"), pair, strict=True):
        spread = view.accuracy(code)
        said |= {place: names.variant(view, code), f"{place}_mean": error_percent(spread.mean)}
        said[f"{place}_range"] = names.spread(spread)
    return said


def _unfinished(view: Quality, pair: tuple[str, str]) -> str:
    """Say in which task they differ most, and how many runs ended before it was learned."""
    tasks = [view.task] if view.one_task else list(TASKS)

    def behind(task: str) -> float:
        more, less = (view.study.accuracy(code, task) for code in pair)
        return less.mean - more.mean

    task = max(tasks, key=behind)
    runs = {place: view.study.of(code) for place, code in zip(("more", "less"), pair, strict=True)}
    ended = {place: sum(not row.finished for row in rows) for place, rows in runs.items()}
    if not ended["more"] or not behind(task) > 0:
        return ""
    steps = max(row.steps for rows in runs.values() for row in rows)
    facts = {"task": t(f"quality.task_{task}"), "steps": count(steps)}
    for place, code in zip(("more", "less"), pair, strict=True):
        share = error_percent(view.study.accuracy(code, task).mean)
        facts |= {place: names.variant(view, code), f"{place}_right": share}
        facts |= {f"{place}_ended": count(ended[place]), f"{place}_runs": count(len(runs[place]))}
    return t("quality.less_unfinished", **facts)


def _where(view: Quality) -> str:
    """Return which answers are counted."""
    task, load = view.task, view.load
    each = "one" if view.one_task else "all"
    loads = "every" if load == EVERY_LOAD else "load"
    facts = {"task": t(f"quality.task_{task}"), "load": count(load)}
    return t(f"quality.where_{each}_{loads}", **facts)


def _found(view: Quality) -> str:
    """Return whether one of the pair is ahead, in a few words."""
    least = min(view.accuracy(code).seeds for code in PAIR)
    if least < LEAST_SEEDS:
        return t("quality.found_few")
    loser = view.loser()
    if loser is None:
        return t("quality.found_null")
    (winner,) = set(PAIR) - {loser}
    return t("quality.found_clear", better=names.family(winner), worse=names.family(loser))


def question(view: Quality) -> Question | None:
    """Ask for the curves from MHA on, whether MQA or MLA loses more; None where none were run."""
    if not view.compared:
        return None
    lines = [[code for code in curve if code in view.caches] for curve in CURVES]
    free = [code for line in lines for code in line if code != GIVEN]
    found = {f"{code}_found": names.share(view.accuracy(code)) for code in PAIR}
    drew = {code: f"{{{free.index(code)}}}" for code in PAIR}
    return curves(
        "quality",
        t("quality.guess", cached=count(view.cached(PAIR[0]))),
        [_dots(view, line) for line in lines],
        true=names.each(view, PAIR),
        told=t("quality.drew", **drew, **found),
        why=verdict(view),
        over=CHART,
        of_class=_of_class(view),
        hides=HIDES,
    )


def _of_class(view: Quality) -> Question:
    """Ask a class which of the two loses more: the one that the verdict names, or neither."""
    said = {code: names.variant(view, code) for code in PAIR}
    said[None] = t("quality.guess_neither")
    return choice(
        "quality",
        t("quality.guess_which", cached=count(view.cached(PAIR[0])), where=_where(view)),
        list(said.values()),
        list(said).index(view.loser()),
        why=verdict(view),
        hides=(CHART, *HIDES),
    )


def _dots(view: Quality, codes: Sequence[str]) -> list[Dot]:
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
