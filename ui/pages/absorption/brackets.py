"""A product of three factors in the chosen order, and what both orders cost."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import SYMBOLS, figures
from mla_engine.figures import Block, symbol_html
from mla_engine.studies.bracketing import Matrix
from ui.pages.absorption import words
from ui.pages.absorption.view import View
from ui.parts import charts
from ui.words.numbers import prefixed_count, size
from ui.words.text import t

PICTURE, BARS = 430, 230
BF16_BYTES = 2
PLAIN = {
    ("scores", "absorbed"): "(q<sup>C</sup> W<sup>UK</sup>) c<sup>KV</sup>",
    ("scores", "expanded"): "q<sup>C</sup> (W<sup>UK</sup> c<sup>KV</sup>)",
    ("output", "absorbed"): "(a c<sup>KV</sup>) W<sup>UV</sup>",
    ("output", "expanded"): "a (c<sup>KV</sup> W<sup>UV</sup>)",
}


def picture(view: View) -> None:
    """The product with the chosen bracket."""
    st.latex(words.FORMULAS[view.side, view.form])
    order = view.order
    fig = figures.bracketed(
        [_block(factor) for factor in order.factors],
        order.first,
        _block(order.inner),
        _block(order.result),
        steps=words.steps(view),
        height=PICTURE,
    )
    left, middle, right, made = (
        f"{m.code} {m.rows} × {m.columns}" for m in (*order.factors, order.inner)
    )
    facts = {"left": left, "middle": middle, "right": right, "inner": made}
    first, then = map(prefixed_count, order.multiply_adds)
    alt = t("absorption.alt_brackets", first=first, then=then, **facts)
    charts.show(fig, "absorption:brackets", alt=alt)


def _block(matrix: Matrix) -> Block:
    """A matrix as the picture draws it, turned so that it fits the product."""
    label = "a" if matrix.code == "attention" else symbol_html(matrix.code)
    return Block(label, matrix.rows, matrix.columns, SYMBOLS[matrix.code].role)


def work(view: View) -> None:
    """The multiply-adds of both orders, the chosen one stressed."""
    rows = [order.multiply_adds for order in view.orders.values()]
    totals = [prefixed_count(sum(row)) for row in rows]
    fig = _bars(view, "adds", ("bracket", "then"), rows, totals)
    charts.show(fig, "absorption:adds", alt=_alt("adds", totals))


def traffic(view: View) -> None:
    """The bytes that both orders move, the chosen one stressed."""
    rows = [order.moved_bytes(BF16_BYTES) for order in view.orders.values()]
    totals = [size(sum(row), binary=False) for row in rows]
    fig = _bars(view, "bytes", ("read", "twice", "result"), rows, totals)
    charts.show(
        fig,
        "absorption:bytes",
        alt=_alt("bytes", totals),
        data=partial(counts, view),
        file="mla_brackets.csv",
    )


def _alt(key: str, totals: list[str]) -> str:
    absorbed, expanded = totals
    return t(f"absorption.alt_{key}", absorbed=absorbed, expanded=expanded)


def _bars(
    view: View, key: str, parts: tuple[str, ...], rows: list[tuple], totals: list[str]
) -> figures.Figure:
    """A row for each order, made of its parts."""
    amounts = zip(*rows, strict=True)
    return figures.bars(
        [PLAIN[view.side, form] for form in view.orders],
        {t(f"absorption.{part}"): of_part for part, of_part in zip(parts, amounts, strict=True)},
        axis=t(f"absorption.axis_{key}"),
        chosen=list(view.orders).index(view.form),
        totals=totals,
        roles=("latent", "query", "value"),
        height=BARS,
    )


def counts(view: View) -> pd.DataFrame:
    """Every number of both orders, in codes."""
    rows = []
    for form, order in view.orders.items():
        inside, after = order.multiply_adds
        factors, bracket, result = order.moved_bytes(BF16_BYTES)
        rows.append(
            {
                "product": view.side,
                "order": form,
                "new_tokens": view.queries,
                "cached_tokens": view.context,
                "heads": view.config.n_heads,
                "bracket_makes": order.inner.code,
                "bracket_elements": order.inner.elements,
                "bracket_multiply_adds": inside,
                "then_multiply_adds": after,
                "factor_bytes": factors,
                "bracket_bytes": bracket,
                "result_bytes": result,
            }
        )
    return pd.DataFrame(rows)
