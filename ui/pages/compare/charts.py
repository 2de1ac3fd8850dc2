"""The pictures of the comparison, each with its alternative text and its data."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.costs import cache_bytes_per_token
from ui.pages.compare import maps as compare_maps
from ui.pages.compare import view as compare
from ui.pages.compare.view import BF16_BYTES, DIFFERS, Side
from ui.parts import charts
from ui.parts.figure_words import flow_words, growth_words, map_words
from ui.parts.growth import CONTEXTS, LENGTHS
from ui.parts.maps import charts as maps_charts
from ui.parts.maps import controls as maps_controls
from ui.parts.maps.view import short
from ui.settings import state
from ui.words.numbers import count, digits, size
from ui.words.text import safe, t, tensor

VIEWS = ("flow", "costs", "maps")
BARS = 190  # pixels
MAP = 540
MIB = 2**20
PARTS = {
    "read": ("cache_read_bytes",),
    "made": ("up_projected_bytes",),
    "weights": ("weight_bytes",),
    "rest": ("cache_written_bytes", "activation_bytes"),
}


def flow(a: Side, b: Side) -> None:
    """Both data flows, steps that differ marked, and the sizes beside them."""
    marked = compare.differing(a, b)
    left, right, table = st.columns((5, 5, 4), gap="medium")
    for place, one in ((left, a), (right, b)):
        with place:
            st.markdown(f"**{one.shown_name}**")
            nodes = [
                replace(node, label=f"{DIFFERS} {node.label}") if node.code in marked else node
                for node in one.overview.nodes()
            ]
            figure = figures.data_flow(nodes, one.overview.edges(), words=flow_words())
            alt = one.overview.alt()
            st.plotly_chart(figure, width="stretch", alt=alt, key=f"flow:{one.letter}")
    with table:
        sizes = compare.size_table(a, b)
        st.table(sizes)
        charts.download(lambda: sizes.rename_axis("size").reset_index(), "compare_sizes.csv")
    st.markdown(_differences(marked), unsafe_allow_html=True)
    steps = _steps(a, b, marked)
    charts.download(lambda: steps, "compare_steps.csv")


def _differences(marked: dict[str, str]) -> str:
    lines = []
    for how in ("only_a", "only_b", "shape"):
        codes = [tensor(code) for code, found in marked.items() if found == how]
        if codes:
            lines.append(" ".join(("-", t(f"compare.differ_{how}"), ", ".join(codes))))
    return "\n".join(lines) or t("compare.same")


def _steps(a: Side, b: Side, marked: dict[str, str]) -> pd.DataFrame:
    codes = dict.fromkeys((*a.shapes, *b.shapes))
    rows = [
        (code, *(str(list(one.shapes.get(code, ()))) for one in (a, b)), marked.get(code, ""))
        for code in codes
    ]
    return pd.DataFrame(rows, columns=["step", "shape_a", "shape_b", "differs"])


def costs(a: Side, b: Side) -> None:
    """The cache of both over the context, what a decode step moves and computes, and the table."""
    context = state.settings()["vs_context"]
    growth, table = st.columns((5, 5), gap="large")
    with growth:
        _growth(a, b, context)
    with table:
        state.control(
            st.select_slider, t("compare.context"), "vs_context", LENGTHS, format_func=count
        )
        _step_bars(a, b, context)
        shown = compare.cost_table(a, b, context)
        st.table(shown)
        st.caption(t("compare.cost_note"))
    numbers = pd.DataFrame({one.letter: compare.amounts(one, context) for one in (a, b)})
    charts.download(lambda: numbers.rename_axis("amount").reset_index(), "compare_costs.csv")


def _growth(a: Side, b: Side, context: int) -> None:
    held = {
        one.letter: np.array([cache_bytes_per_token(one.config, BF16_BYTES) * n for n in CONTEXTS])
        for one in (a, b)
    }
    figure = figures.cache_growth(CONTEXTS, held, at=context, unit="MiB", words=growth_words())
    now = {letter: size(curve[CONTEXTS.index(context)]) for letter, curve in held.items()}
    alt = t("compare.alt_growth", tokens=count(context), a=now["A"], b=now["B"])
    st.plotly_chart(figure, width="stretch", alt=alt, key="compare:growth")


def _step_bars(a: Side, b: Side, context: int) -> None:
    steps = [one.decode(context) for one in (a, b)]
    parts = {
        t(f"compare.part_{part}"): [sum(getattr(step, f) for f in fields) / MIB for step in steps]
        for part, fields in PARTS.items()
    }
    totals = [size(step.total_bytes) for step in steps]
    figure = figures.bars(
        ["A", "B"], parts, axis=t("compare.axis_step"), totals=totals, height=BARS
    )
    figure.update_layout(legend_entrywidth=110)  # two a row fit a phone
    alt = t("compare.alt_step", a=totals[0], b=totals[1])
    st.plotly_chart(figure, width="stretch", alt=alt, key="compare:step")


def maps(a: Side, b: Side) -> None:
    """One head of each over the same tokens, on the same limits."""
    kind = state.settings()["vs_map"]
    left, right, controls = st.columns((7, 7, 4), gap="medium")
    with controls:
        _map_controls(a, b)
    runs = [compare_maps.ran(one) for one in (a, b)]
    shown = [compare_maps.head_map(found, kind) for found in runs]
    limit = figures.shared_limit(*shown)
    cell = compare_maps.furthest_apart(*shown)
    for place, one, found, values in zip((left, right), (a, b), runs, shown, strict=True):
        with place:
            st.markdown(f"**{one.shown_name}**")
            options = {
                "cell": cell,
                "head": str(found.heads[0]),
                "height": MAP,
                "words": map_words(),
            }
            if kind == "attention":
                name = t("maps.share")
                figure = figures.attention_map(
                    values, found.words, found.words, name=name, **options
                )
            else:
                figure = figures.score_map(values, found.words, found.words, limit=limit, **options)
            alt = t(f"compare.alt_{kind}", side=one.name, head=found.heads[0], limit=digits(limit))
            table = partial(maps_charts.named, values, found.words, found.words)
            charts.show(figure, f"chart:compare_{one.letter}", alt=alt, data=table)
    st.caption(t(f"compare.limits_{kind}", limit=digits(limit)))
    values = [digits(float(values[cell])) for values in shown]
    query, key = (safe(short(runs[0].words[place])) for place in cell)
    st.markdown(t("compare.apart", query=query, target=key, a=values[0], b=values[1]))


def _map_controls(a: Side, b: Side) -> None:
    state.control(
        st.segmented_control,
        t("compare.map"),
        "vs_map",
        ("attention", "scores"),
        format_func=lambda code: t(f"compare.map_{code}"),
        required=True,
    )
    most = max(one.config.n_heads for one in (a, b)) - 1
    if most:
        state.control(st.slider, t("compare.head"), "vs_head", 0, most)
    maps_controls.text_controls()
    st.caption(compare_maps.weights(a, b))
