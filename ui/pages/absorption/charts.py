"""The absorption page's pictures of brackets and of merged matrices, with numbers and downloads."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.absorption import run
from ui.pages.absorption.run import MATRICES
from ui.pages.absorption.view import BF16_BYTES, FORMULAS, PLAIN, View, amount, entries_table
from ui.parts import charts, prose
from ui.parts.figure_words import map_words
from ui.settings import state
from ui.words.numbers import count, size
from ui.words.text import t, tensor

PICTURE, BARS, MAP = 430, 230, 420


def plot(fig: object, key: str, alt: str) -> None:
    """A chart with its alternative text, read aloud and so without bold type."""
    st.plotly_chart(fig, width="stretch", key=f"absorption:{key}", alt=alt.replace("**", ""))


def brackets(view: View) -> None:
    """The product with the chosen bracket."""
    st.latex(FORMULAS[view.side, view.form])
    factors, inner, result = view.blocks()
    order = view.chosen
    fig = figures.bracketed(factors, order.first, inner, result, steps=view.steps(), height=PICTURE)
    left, middle, right, made = (
        f"{m.code} {m.rows} × {m.columns}" for m in (*order.factors, order.inner)
    )
    first, then = map(amount, order.multiply_adds)
    facts = {"left": left, "middle": middle, "right": right, "inner": made}
    plot(fig, "brackets", t("absorption.alt_brackets", first=first, then=then, **facts))


def counts(view: View) -> None:
    """Multiply-adds and bytes of both orders, the chosen one stressed."""
    orders = view.orders
    adds = [order.multiply_adds for order in orders.values()]
    moved = [order.moved_bytes(BF16_BYTES) for order in orders.values()]
    _bars(view, "adds", ("bracket", "then"), adds, [amount(sum(n)) for n in adds])
    _bars(
        view,
        "bytes",
        ("read", "twice", "result"),
        moved,
        [size(sum(n), binary=False) for n in moved],
    )
    charts.download(view.counts, "mla_brackets.csv")


def _bars(
    view: View, key: str, parts: tuple[str, ...], rows: list[tuple], totals: list[str]
) -> None:
    labels = [t(f"absorption.{part}") for part in parts]
    fig = figures.bars(
        [PLAIN[view.side, form] for form in view.orders],
        dict(zip(labels, zip(*rows, strict=True), strict=True)),
        axis=t(f"absorption.axis_{key}"),
        chosen=list(view.orders).index(view.form),
        totals=totals,
        roles=("latent", "query", "value"),
        height=BARS,
    )
    absorbed, expanded = totals
    plot(fig, key, t(f"absorption.alt_{key}", absorbed=absorbed, expanded=expanded))


def merged(view: View) -> None:
    """One head's merged matrix as a picture, its spectrum, and its size against the factors."""
    name = state.settings()["ab_matrix"]
    with st.spinner(t("absorption.running")):
        found = run.merged(view.config, view.origin, view.head)[name]
    rows, columns = found.matrix.shape
    facts = {
        "head": count(view.head),
        "rows": count(rows),
        "columns": count(columns),
        "rank": count(found.rank),
        "most": count(min(rows, columns)),
        "width": count(view.config.d_head if name == "W_QK" else view.config.d_value),
    }
    look = t("absorption.merged_look", name=tensor(name), **facts)
    prose.say(look)
    picture, spectrum, words = st.columns([4, 4, 4], gap="medium")
    with picture:
        row_axis = "d" if name == "W_VO" or not view.config.d_latent_q else "l"
        axes = (t(f"maps.axis_{row_axis}"), t("maps.axis_c"))
        title = figures.symbol_html(name)
        fig = figures.tensor_map(found.matrix, axes=axes, name=title, height=MAP, words=map_words())
        plot(fig, "merged", t("absorption.alt_merged", name=name, **facts))
        charts.download(partial(pd.DataFrame, found.matrix), f"{name}.csv")
    with spectrum:
        _spectrum(name, found, t("absorption.alt_spectrum", name=name, **facts))
    with words:
        _merged_controls(view)
        st.table(entries_table(view))
        st.markdown(t("absorption.why_factors"))


def _spectrum(name: str, found: run.Merged, alt: str) -> None:
    fig = figures.spectrum(
        {figures.symbol_html(name): found.singular_values},
        at=found.rank,
        at_name=t("absorption.rank", rank=count(found.rank)),
        axes=(t("absorption.number"), t("absorption.singular_value")),
        height=MAP,
    )
    plot(fig, "spectrum", alt)
    table = {"singular_value": found.singular_values}
    charts.download(partial(pd.DataFrame, table), f"{name}_singular_values.csv")


def _merged_controls(view: View) -> None:
    state.control(
        st.segmented_control,
        t("absorption.matrix"),
        "ab_matrix",
        MATRICES,
        format_func=lambda code: t(f"absorption.matrix_{code}"),
        required=True,
    )
    last = view.config.n_heads - 1
    state.control(st.number_input, t("absorption.head", last=count(last)), "ab_head", 0, last)
    st.markdown(t("absorption.entries", heads=count(view.config.n_heads)))
