"""The turning points: from when on to expand, and from when on memory is no more the limit."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import costs, figures
from ui.engine import shared_cache
from ui.pages.compute.view import View, or_never, plain
from ui.parts import prose
from ui.parts.charts import show
from ui.parts.measure import device_name
from ui.parts.ways import listed
from ui.words.numbers import count, digits
from ui.words.text import t

DOUBLINGS = tuple(2**n for n in range(13))
RIDGE = 1  # its look

# Each is a search or a curve over many calls: found once for all visitors.
attention_intensity = shared_cache.cached(costs.attention_intensity)
attention_turns = shared_cache.cached(costs.attention_turns)
expanding_wins = shared_cache.cached(costs.expanding_wins)


def turns(view: View) -> None:
    """Draw when to expand, and when memory is no more the limit."""
    expanding, turning = st.columns(2, gap="large")
    with expanding:
        st.subheader(t("compute.expand_title"), anchor=False)
        _expansion(view)
    with turning:
        st.subheader(t("compute.turn_title"), anchor=False)
        _turning(view)
        prose.say(_batches(view))


def _flops(view: View, form: str, queries: int) -> int:
    """Return the FLOP of one layer of MLA in a step of so many query tokens."""
    return costs.decode(view.latent, view.chosen.context, form, new_tokens=queries).total_flops


def _curve(view: View, form: str) -> np.ndarray:
    return np.array([_flops(view, form, n) for n in DOUBLINGS])


def _expansion(view: View) -> None:
    """Draw FLOP over query tokens, absorbed and expanded, with their crossing."""
    absorbed, expanded = _curve(view, "absorbed"), _curve(view, "expanded")
    queries = expanding_wins(view.latent, view.chosen.context)
    said = _where_expanding_wins(view, queries)
    prose.say(said)
    figure = partial(
        figures.crossing,
        DOUBLINGS,
        {t("ways.way_mla_absorbed"): absorbed, t("ways.way_mla_each"): expanded},
        titles=(t("compute.axis_queries"), t("compute.axis_flop")),
        cross=queries and (queries, _flops(view, "expanded", queries)),
        label=count(queries) if queries else "",
        here=view.chosen.queries,
    )
    lines = {"query_tokens": DOUBLINGS, "absorbed_flop": absorbed, "expanded_flop": expanded}
    table = partial(pd.DataFrame, lines)
    about = {"alt": plain(said), "data": table, "file": "compute_expansion.csv"}
    show(figure, "expansion", follows="cost_queries", **about)


def _where_expanding_wins(view: View, queries: int | None) -> str:
    """Return from when on expanding beats absorbing: by FLOP, endlessly long, and by the clock."""
    context = view.chosen.context
    values = {"tokens": count(context), "gpu": device_name(view.device)}
    if queries is None:
        return t("compute.never_expand", **values)
    clocked = expanding_wins(view.latent, context, view.device, batch=view.chosen.batch)
    values |= {"queries": count(queries), "limit": digits(costs.crossover_queries(view.latent))}
    return t("compute.expand", **values, clocked=or_never(clocked))


def _turning(view: View) -> None:
    """Draw the intensity of absorbed attention over heads x query tokens, against the ridge."""
    context, device, ridge = view.chosen.context, view.device, view.device.ridge
    here = view.latent.n_heads * view.chosen.queries
    rows = attention_turns(view.latent, context, device)
    bound = "compute" if rows is not None and here >= rows else "memory"
    said = t(
        "compute.turning",
        gpu=device_name(device),
        ridge=digits(ridge),
        rows=or_never(rows),
        heads=count(view.latent.n_heads),
        queries=count(view.chosen.queries),
        product=count(here),
        bound=t(f"compute.bound_{bound}"),
    )
    prose.say(said)
    alone = np.array([attention_intensity(view.latent, context, n, device) for n in DOUBLINGS])
    against = t("compute.line_ridge", gpu=device_name(device))
    figure = partial(
        figures.crossing,
        DOUBLINGS,
        {t("compute.line_attention"): alone, against: [ridge] * len(DOUBLINGS)},
        titles=(t("compute.axis_rows"), t("compute.axis_intensity")),
        cross=rows and (rows, ridge),
        label=count(rows) if rows else "",
        here=here,
        roles=("mla_absorbed", RIDGE),
    )
    lines = {"heads_x_query_tokens": DOUBLINGS, "flop_per_byte": alone}
    table = partial(pd.DataFrame, lines | {"ridge_flop_per_byte": ridge})
    show(figure, "turning", alt=plain(said), data=table, file="compute_intensity.csv")


def _batches(view: View) -> str:
    """Return from how many sequences on each way's whole step is compute-bound."""
    if not view.decoding:
        return ""
    found = {
        code: costs.step_turns(lambda n, code=code: view.cost(code, batch=n), view.device)
        for code in view.ways
    }
    said = listed(view.ways, {code: or_never(batch) for code, batch in found.items()})
    return t("compute.batches", gpu=device_name(view.device), said=said)
