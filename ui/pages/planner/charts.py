"""The pictures of the page planner: one GPU, rates, batches, and where expanding wins."""

import html
from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.model_caches.flops import expanding_from, form_flops
from ui.pages.planner import tables, words
from ui.pages.planner.curves import QUERIES, Curve, batches, forms, rates
from ui.pages.planner.settings import GIB
from ui.pages.planner.view import Unsized, View
from ui.parts import charts, files, prose
from ui.parts.growth import LENGTHS
from ui.words.numbers import count
from ui.words.text import t

MEMORY, ROW, LINES = 150, 70, 380  # pixels; of the first picture more with each row
PARTS = (1, 2, 0, "input")  # looks of weights, overhead, cache and what is free
GIGA = 1e9


def memory(view: View) -> None:
    """One GPU to scale: weights, cache, overhead, and what is free; the line is its memory."""
    parts = {
        "weights": [float(one.plan.rank_weight_bytes) for one in view.all],
        "overhead": [float(one.plan.overhead_bytes) for one in view.all],
        "cache": [one.cache_bytes for one in view.all],
        "free": [one.free_bytes for one in view.all],
    }
    amounts = {t(f"planner.part_{name}"): np.array(of) / GIB for name, of in parts.items()}
    most = view.gpu.memory_bytes / GIB
    fig = partial(
        figures.bars,
        ["<br>".join(figures.rows(one.label)) for one in view.all],
        amounts,
        axis=t("planner.axis_memory"),
        roles=PARTS,
        limits=(0, 1.04 * max(most, *sum(amounts.values()))),
        at=most,
        height=MEMORY + ROW * len(view.all),
    )
    data, file = partial(tables.memory, view), "mla_plan_memory.csv"
    charts.show(fig, "planner:memory", alt=words.alt_memory(view), data=data, file=file)


def unsized(view: Unsized) -> None:
    """One GPU with the cache of one sequence, where what the weights take is not known."""
    amounts = {t("planner.part_cache"): np.array([view.sequence_bytes]) / GIB}
    most = view.gpu.memory_bytes / GIB
    fig = partial(
        figures.bars,
        ["<br>".join(figures.rows(html.escape(view.name, quote=False)))],
        amounts,
        axis=t("planner.axis_memory"),
        roles=PARTS[2:],
        limits=(0, 1.04 * max(most, *amounts[t("planner.part_cache")])),
        at=most,
        height=MEMORY + ROW,
    )
    data, file = partial(tables.unsized, view), "mla_plan_cache.csv"
    charts.show(fig, "planner:unsized", alt=words.alt_unsized(view), data=data, file=file)


def heights(view: View) -> dict[str, tuple[int, int, int]]:
    """Of each section, about: those without a chart are a line of text."""
    drawn = {"speed": rates(view), "contexts": batches(view), "crossing": view.served.widths}
    return {name: (520, 520, 560) if found else (60, 60, 100) for name, found in drawn.items()}


def speed(view: View) -> None:
    """Tokens a second over the batch, each line up to where memory ends, and the steps in full."""
    if found := rates(view):
        ridge = view.plan.computing_from if view.plan.bounded else None
        inside = ridge is not None and ridge <= view.plan.largest_batch
        rate = float(view.plan.step(ridge).tokens_per_second) if inside else 0
        fig = _lines(
            found,
            [_rate_name(view, one) for one in found],
            (t("planner.axis_batch"), t("planner.axis_rate")),
            cross=(ridge, rate) if inside else None,
            label=t("planner.ridge", n=count(ridge)) if inside else "",
            beside=True,
        )
        data, file = partial(tables.speed, view), "mla_plan_speed.csv"
        charts.show(fig, "planner:speed", alt=words.alt_speed(view), data=data, file=file)
        with st.container(key="planner_steps"):
            st.table(tables.steps(view))
    for one in view.all:
        if not one.plan.bounded:
            prose.say(words.no_active(one))
    if view.plan.bounded:
        prose.say(words.first_token(view) if view.plan.largest_batch else t("planner.no_speed"))


def contexts(view: View) -> None:
    """The largest batch over the context."""
    found = [one for one in batches(view) if one.points]
    if found:
        titles = t("planner.axis_context"), t("planner.axis_largest")
        names = [_layout_name(view, one) for one in found]
        fig = _lines(found, names, titles, here=view.plan.context, x=LENGTHS, beside=True)
        data, file = partial(tables.contexts, view), "mla_plan_contexts.csv"
        charts.show(fig, "planner:contexts", alt=words.alt_contexts(view), data=data, file=file)
    if said := words.dealt(view):
        with st.container(key="planner_dealt"):
            prose.say(said)


def crossing(view: View) -> None:
    """FLOPs of both forms over the queries, where there are latents."""
    prose.say(words.expanding(view))
    if not (found := forms(view)):
        return
    widths, context = view.served.widths, view.plan.context
    at = expanding_from(*widths, context)
    shown = at is not None and at <= QUERIES[-1]
    height = form_flops(view.plan.model.n_heads, *widths, context, at)[0] / GIGA if shown else 0
    fig = _lines(
        [Curve(o.model, o.code, {n: y / GIGA for n, y in o.points.items()}) for o in found],
        [t(f"planner.line_{one.code}") for one in found],
        (t("planner.axis_queries"), t("planner.axis_flops")),
        cross=(at, height) if shown else None,
        label=count(at) if shown else "",
        roles=("mla_absorbed", "mla_kv"),
    )
    data, file = partial(tables.crossing, view), "mla_plan_forms.csv"
    alt = words.alt_crossing(view, found)
    charts.show(fig, "planner:crossing", alt=alt, data=data, file=file)


def report(view: View) -> None:
    """The whole plan to take along."""
    for form, mime in (("md", "text/markdown"), ("json", "application/json")):
        made = partial(tables.report, view, form)
        key = f"planner:{form}"
        files.button(t(f"planner.report_{form}"), made, f"mla_plan.{form}", mime, key)


def _rate_name(view: View, one: Curve) -> str:
    if view.other or not view.served.plan.routed:
        return _label(view, one)
    return t(f"planner.rate_{one.code}")


def _layout_name(view: View, one: Curve) -> str:
    return _label(view, one) if view.other else one.code.upper().replace("_", " × ")


def _label(view: View, one: Curve) -> str:
    return next(served.label for served in view.all if served.found.name == one.model)


def _lines(
    found: Sequence[Curve],
    names: Sequence[str],
    titles: tuple[str, str],
    *,
    x: Sequence[int] = (),
    roles: Sequence[figures.Role] = (),
    **options: object,
) -> charts.Drawing:
    """Lines over a number that doubles; a line has nothing where its curve has no point."""
    places = list(x) or sorted({place for one in found for place in one.points})
    heights = [np.array([one.points.get(n, np.nan) for n in places]) for one in found]
    drawn = dict(zip(names, heights, strict=True))
    looks = roles or tuple(range(len(found)))
    return partial(
        figures.crossing, places, drawn, titles=titles, roles=looks, height=LINES, **options
    )
