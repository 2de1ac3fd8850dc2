"""The sections below the planner's picture, each with lines over a number that doubles.

They show tokens a second over the batch, the largest batch over the context, and the FLOPs of both
forms of MLA over the queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from kvcount.planning.flops import endless_crossing, expanding_from, form_flops
from mla_engine.figures import Role
from mla_engine.figures import crossing as crossing_chart
from ui.pages.planner.headline import gpus, name, no_active, sequences
from ui.pages.planner.memory import figures
from ui.pages.planner.view import Served, View
from ui.parts import charts, prose
from ui.settings.sizes import LENGTHS
from ui.words.numbers import clock, count, digits, flop, tied_size
from ui.words.text import listed, named, parted, t

LINES = 380  # pixels
GIGA = 1e9
QUERIES = tuple(2**n for n in range(13))


@dataclass(frozen=True)
class Curve:
    """A line.

    Args:
        served: the model.
        code: what it is, told apart from the model's others.
        points: place -> height; nothing where it has none.
    """

    served: Served
    code: str
    points: dict[int, float]


def _lines(
    found: Sequence[Curve],
    names: Sequence[str],
    titles: tuple[str, str],
    *,
    x: Sequence[int] = (),
    roles: Sequence[Role] = (),
    **options: object,
) -> charts.Drawing:
    """Return a chart of lines over a number that doubles, empty where a curve has no point."""
    places = list(x) or sorted({place for one in found for place in one.points})
    heights = [np.array([one.points.get(n, np.nan) for n in places]) for one in found]
    drawn = dict(zip(names, heights, strict=True))
    looks = roles or tuple(range(len(found)))
    return partial(
        crossing_chart, places, drawn, titles=titles, roles=looks, height=LINES, **options
    )


def _table(curves: Sequence[Curve], x: str, y: str) -> pd.DataFrame:
    """Return the points of all curves, a row each, in codes and not in words."""
    rows = [
        {"model": one.served.found.name, "curve": one.code, x: place, y: height}
        for one in curves
        for place, height in one.points.items()
    ]
    return pd.DataFrame(rows)


def speed(view: View) -> None:
    """Draw tokens a second over the batch, up to where memory ends, and the steps in full."""
    if found := _rates(view):
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
        data = partial(_table, found, "sequences", "tokens_per_second_at_most")
        alt, file = _alt_speed(view), "mla_plan_speed.csv"
        charts.show(fig, "planner:speed", alt=alt, data=data, file=file)
        with st.container(key="planner_steps"):
            st.table(_steps(view))
    for one in view.all:
        if not one.plan.bounded:
            prose.say(no_active(one))
    if view.plan.bounded:
        prose.say(_first_token(view) if view.plan.largest_batch else t("planner.no_speed"))


def _rate_name(view: View, one: Curve) -> str:
    if view.other or not view.served.plan.routed:
        return one.served.label
    return t(f"planner.rate_{one.code}")


def _rates(view: View) -> list[Curve]:
    """Return the most tokens a second over the batch, up to what fits, by what a batch touches.

    Beside another model each has one line, the higher.
    """
    fitting = [one for one in view.all if one.plan.largest_batch and one.plan.bounded]
    ends = {one.plan.largest_batch for one in fitting}
    places = sorted(ends | {2**n for n in range(max(ends, default=0).bit_length())})
    return [
        _rate(one, places, spread=spread)
        for one in fitting
        for spread in ((False, True) if one.plan.routed and not view.other else (False,))
    ]


def _rate(one: Served, places: Sequence[int], *, spread: bool) -> Curve:
    plan = one.plan
    found = {n: plan.step(n, spread=spread) for n in places if n <= plan.largest_batch}
    points = {n: float(step.tokens_per_second) for n, step in found.items()}
    return Curve(one, "own_weights" if spread else "same_weights", points)


def _steps(view: View) -> pd.DataFrame:
    """Return decode steps as text: one sequence a group, and all that fit."""
    rows = [_step(one, step) for one in view.all for step in figures(view, one)["steps"]]
    found = pd.DataFrame(rows)
    if not view.other:
        found = found.drop(columns=t("planner.column_model"))
    return found.set_index(found.columns[0])


def _step(one: Served, step: dict) -> dict[str, str]:
    routing = step["routing"].replace(" ", "_") if one.plan.routed else "all"
    cells = {
        "model": one.found.name,
        "sequences": count(step["batch"]),
        "routing": t(f"planner.routing_{routing}"),
        "read": tied_size(step["read_bytes_each"]),
        "flops": digits(step["flops"] / 1e12),
        "seconds": clock(step["seconds_at_least"]),
        "rate": count(step["tokens_per_second_at_most"]),
        "own_rate": digits(step["sequence_tokens_per_second_at_most"]),
    }
    return {t(f"planner.column_{name}"): cell for name, cell in cells.items()}


def _first_token(view: View) -> str:
    """Say how long a prompt takes at least."""
    seconds = clock(float(view.plan.first_token_seconds))
    said = {"context": count(view.plan.prompt_tokens), "gpus": gpus(view), "seconds": seconds}
    return t("planner.first_token", **said)


def _alt_speed(view: View) -> str:
    """Return tokens a second over the batch in words."""
    each = parted(
        t("planner.alt_rate", model=one.found.name, **_ends(one))
        for one in view.all
        if one.plan.largest_batch and one.plan.bounded
    )
    return t("planner.alt_speed", each=each)


def _ends(one: Served) -> dict[str, str]:
    least, most = (one.plan.step(n).tokens_per_second for n in (1, one.plan.largest_batch))
    rates = {"least": count(float(least)), "most": count(float(most))}
    return rates | {"n": count(one.plan.largest_batch)}


def contexts(view: View) -> None:
    """Draw the largest batch over the context."""
    found = [one for one in _batches(view) if one.points]
    if found:
        titles = t("planner.axis_context"), t("planner.axis_largest")
        names = [_layout_name(view, one) for one in found]
        fig = _lines(found, names, titles, here=view.plan.context, x=LENGTHS, beside=True)
        data = partial(_table, found, "context_tokens", "largest_batch")
        about = {"alt": _alt_contexts(view), "data": data, "file": "mla_plan_contexts.csv"}
        charts.show(fig, "planner:contexts", follows="plan_context", **about)
    if said := _dealt(view):
        with st.container(key="planner_dealt"):
            prose.say(said)


def _layout_name(view: View, one: Curve) -> str:
    return (
        one.served.label if view.other else one.code.upper().replace("_", " × ").replace("+", ", ")
    )


def _batches(view: View) -> list[Curve]:
    """Return the largest batch over the context, by way to share the cache or by model."""
    if view.other:
        return [_batch(one, one.plan.data) for one in view.all]
    return [_batch(view.served, data) for data in view.layouts]


def _batch(one: Served, data: int) -> Curve:
    found = zip(LENGTHS, one.batches(LENGTHS, data), strict=True)
    plan = one.grouped(data)
    code = f"tp{plan.fullest.placing.ranks}_dp{data}"
    code += f"_pp{plan.pipeline}" if plan.pipeline > 1 else ""
    code += f"+dcp{plan.context_ranks}" if plan.context_ranks > 1 else ""
    return Curve(one, code, {n: most for n, most in found if most})


def _dealt(view: View) -> str:
    """Say what fits where each GPU has sequences of its own; "" where that is so already."""
    plan = view.plan
    groups = plan.gpus // plan.pipeline
    if plan.data == groups:
        return ""
    dealt = view.served.grouped(groups)
    said = {
        "n": count(groups),
        "most": sequences(dealt.largest_batch),
        "now": count(plan.largest_batch),
    }
    if dealt.rank_weight_bytes > plan.rank_weight_bytes:
        each = tied_size(float(dealt.rank_weight_bytes))
        return t("planner.dealt_weights", **said, each=each)
    return t("planner.dealt", **said)


def _alt_contexts(view: View) -> str:
    """Return batches over the context in words."""
    first, last = LENGTHS[0], LENGTHS[-1]
    each = parted(
        named(one.found.name, listed((count(short), count(long))))
        for one in view.all
        for short, long in (one.batches((first, last)),)
    )
    return t("planner.alt_contexts", first=count(first), last=count(last), each=each)


def crossing(view: View) -> None:
    """Draw FLOPs of both forms over the queries, where there are latents."""
    prose.say(_expanding(view))
    if not (found := _forms(view)):
        return
    widths, context = view.served.widths, view.plan.context
    at = expanding_from(*widths, context)
    shown = at is not None and at <= QUERIES[-1]
    height = form_flops(view.plan.model.n_heads, *widths, context, at)[0] / GIGA if shown else 0
    fig = _lines(
        [Curve(o.served, o.code, {n: y / GIGA for n, y in o.points.items()}) for o in found],
        [t(f"planner.line_{one.code}") for one in found],
        (t("planner.axis_queries"), t("planner.axis_flops")),
        cross=(at, height) if shown else None,
        label=count(at) if shown else "",
        roles=("mla_absorbed", "mla_kv"),
    )
    data = partial(_table, found, "query_tokens", "flops_per_layer")
    alt, file = _alt_crossing(view, found), "mla_plan_forms.csv"
    charts.show(fig, "planner:crossing", alt=alt, data=data, file=file)


def _forms(view: View) -> list[Curve]:
    """Return FLOPs of a layer over the queries, absorbed and expanded; none without latents."""
    if (widths := view.served.widths) is None:
        return []
    plan = view.plan
    found = {n: form_flops(plan.model.n_heads, *widths, plan.context, n) for n in QUERIES}
    return [
        Curve(view.served, code, {n: flops[place] for n, flops in found.items()})
        for place, code in enumerate(("absorbed", "expanded"))
    ]


def _expanding(view: View) -> str:
    """Say from how many queries on expanding computes less, where there are latents."""
    if (widths := view.served.widths) is None:
        return t("planner.no_latents", model=name(view.served))
    endless = endless_crossing(*widths)
    if endless is None:
        return t("planner.never_expanding")
    said = {"context": count(view.plan.context), "endless": digits(float(endless))}
    return t("planner.expanding", **said, n=count(expanding_from(*widths, view.plan.context)))


def _alt_crossing(view: View, found: Sequence[Curve]) -> str:
    """Return both forms' FLOPs at the ends of their lines in words."""
    ends = {
        one.code: listed(flop(one.points[n]) for n in (QUERIES[0], QUERIES[-1])) for one in found
    }
    said = {"context": count(view.plan.context), "most": count(QUERIES[-1])}
    return t("planner.alt_crossing", **said, **ends)
