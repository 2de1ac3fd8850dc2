"""A product of three factors in the chosen order, what both orders cost, and a question on it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from mla_engine import SYMBOLS, figures
from mla_engine.late import Late
from mla_engine.studies.bracketing import FORMS, Matrix
from ui.pages.absorption import words
from ui.pages.absorption.view import View
from ui.parts import charts, motion
from ui.parts.motion import Dial
from ui.parts.questions import Question, decades
from ui.words.numbers import count, prefixed_count, shortest, size, times, unit_of
from ui.words.text import t

pd = Late("pandas")

BARS = 230
BF16_BYTES = 2
PLAIN = {
    ("scores", "absorbed"): "(q<sup>C</sup> W<sup>UK</sup>) c<sup>KV</sup>",
    ("scores", "expanded"): "q<sup>C</sup> (W<sup>UK</sup> c<sup>KV</sup>)",
    ("output", "absorbed"): "(a c<sup>KV</sup>) W<sup>UV</sup>",
    ("output", "expanded"): "a (c<sup>KV</sup> W<sup>UV</sup>)",
}


def picture(view: View) -> None:
    """The product with the bracket where the reader puts it."""
    data = {
        "forms": [_drawn(view, form) for form in FORMS],
        "told": [words.alt_brackets(view, form) for form in FORMS],
    }
    labels = (f"{t(f'absorption.bracket_{form}')} {PLAIN[view.side, form]}" for form in FORMS)
    dial = Dial("ab_order", t("absorption.order"), FORMS, tuple(labels))
    options = {"table": partial(counts, view), "file": "mla_brackets.csv"}
    motion.show("bracket", "absorption:brackets", [dial], data, **options)


def _drawn(view: View, form: str) -> dict[str, Any]:
    order = view.orders[form]
    return {
        "factors": [_box(factor) for factor in order.factors],
        "inner": _box(order.inner),
        "result": _box(order.result),
        "steps": words.steps(view, form),
    }


def _box(matrix: Matrix) -> dict[str, Any]:
    """A matrix as the picture draws it, turned so that it fits the product."""
    return {
        "code": matrix.code,
        "label": motion.parts("a" if matrix.code == "attention" else matrix.code),
        "rows": matrix.rows,
        "columns": matrix.columns,
        "role": SYMBOLS[matrix.code].role,
        "size": f"{count(matrix.rows)} × {count(matrix.columns)}",
    }


def work(view: View) -> None:
    """The multiply-adds of both orders, the chosen one stressed."""
    rows = [order.multiply_adds for order in view.orders.values()]
    totals = [prefixed_count(sum(row)) for row in rows]
    axis = t("absorption.axis_adds")
    fig = _bars(view, axis, ("bracket", "then"), rows, totals)
    charts.show(fig, "absorption:adds", alt=_alt("adds", totals))


def traffic(view: View) -> None:
    """The bytes that both orders move, the chosen one stressed."""
    rows = [order.moved_bytes(BF16_BYTES) for order in view.orders.values()]
    totals = [size(sum(row)) for row in rows]
    unit_bytes, unit = unit_of(max(map(sum, rows)))
    amounts = [[part / unit_bytes for part in row] for row in rows]
    axis = t("absorption.axis_bytes", unit=unit)
    fig = _bars(view, axis, ("read", "twice", "result"), amounts, totals)
    charts.show(fig, "absorption:bytes", alt=_alt("bytes", totals))


def _alt(key: str, totals: list[str]) -> str:
    absorbed, expanded = totals
    return t(f"absorption.alt_{key}", absorbed=absorbed, expanded=expanded)


def _bars(
    view: View, axis: str, parts: tuple[str, ...], rows: Sequence[Sequence], totals: list[str]
) -> charts.Drawing:
    """A row for each order, made of its parts."""
    amounts = zip(*rows, strict=True)
    return partial(
        figures.bars,
        [PLAIN[view.side, form] for form in view.orders],
        {t(f"absorption.{part}"): of_part for part, of_part in zip(parts, amounts, strict=True)},
        axis=axis,
        chosen=list(view.orders).index(view.form),
        totals=totals,
        roles=(0, 1, 2),
        height=BARS,
    )


def counts(view: View) -> "pd.DataFrame":
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


def question(view: View) -> Question:
    """Ask how many times the work of the cheaper order the other takes."""
    both = view.work.values()
    return decades(
        "absorption",
        t("absorption.guess"),
        max(both) / min(both),
        (1, 10_000),
        say=_said,
        why=t("absorption.guess_why"),
        hides=("lead", "absorption_verdict", "absorption:adds"),
    )


def _said(ratio: float) -> str:
    """Return a stop of the slider: whole where it is large."""
    if ratio < 1000:
        return times(ratio)
    return t("common.times", value=count(float(shortest(ratio, 3))))
