"""A product of three factors in the chosen order, what both orders cost, and a question on it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from mla_engine import PRESETS, SYMBOLS, LatentConfig, figures
from mla_engine.studies.bracketing import FORMS, SIDES, Bracketing, Matrix, bracketings
from ui.pages.absorption.view import View
from ui.parts import charts, motion, ways
from ui.parts.motion import Dial
from ui.parts.questions import Question, decades
from ui.settings.parsers import Setting, one_of, power_of_two
from ui.words.numbers import count, prefixed_count, shortest, size, times, unit_of
from ui.words.text import sentences, t

QUERIES = tuple(2**n for n in range(13))
CONTEXTS = tuple(2**n for n in range(4, 21))
SETTINGS = {
    "ab_side": Setting("scores", one_of(*SIDES), "segmented_control"),
    "ab_order": Setting("absorbed", one_of(*FORMS)),
    "ab_queries": Setting(1, power_of_two(1, 2**12), "select_slider", options=QUERIES),
    "ab_context": Setting(2**12, power_of_two(2**4, 2**20), "select_slider", options=CONTEXTS),
}
LARGE = PRESETS["deepseek-v3"]  # beside a trained model, whose sizes are small
BARS = 230
BF16_BYTES = 2
PLAIN = {
    ("scores", "absorbed"): "(q<sup>C</sup> W<sup>UK</sup>) c<sup>KV</sup>",
    ("scores", "expanded"): "q<sup>C</sup> (W<sup>UK</sup> c<sup>KV</sup>)",
    ("output", "absorbed"): "(a c<sup>KV</sup>) W<sup>UV</sup>",
    ("output", "expanded"): "a (c<sup>KV</sup> W<sup>UV</sup>)",
}


def orders(view: View, config: LatentConfig | None = None) -> dict[str, Bracketing]:
    """Return both bracketings of the chosen product, by form, in this layer or another."""
    queries, keys = view.chosen.queries, view.chosen.context + view.chosen.queries
    return bracketings(config or view.config, view.chosen.side, queries=queries, keys=keys)


def work_of(view: View, config: LatentConfig | None = None) -> dict[str, int]:
    """Return the multiply-adds of both orders, by form, in this layer or another."""
    return {form: sum(order.multiply_adds) for form, order in orders(view, config).items()}


def lead(view: View) -> tuple[str, str]:
    """Return how many times less work the cheaper order is, and the work of both."""
    work = work_of(view)
    less, more = sorted(work, key=work.get)
    values = {"less_form": t(f"absorption.form_{less}"), "more_form": t(f"absorption.form_{more}")}
    values |= {"less": prefixed_count(work[less]), "more": prefixed_count(work[more])}
    number = t("absorption.less_work", ratio=times(work[more] / work[less]))
    return number, t("absorption.line", **values)


def question(view: View) -> Question:
    """Ask how many times the work of the cheaper order the other takes."""
    both = work_of(view).values()
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
    """Write a stop of the slider: whole where it is large."""
    if ratio < 1000:
        return times(ratio)
    return t("common.times", value=count(float(shortest(ratio, 3))))


def verdict(view: View) -> str:
    """Return which order takes less work at these lengths, and in a large model too."""
    values = {"queries": count(view.chosen.queries), "context": count(view.chosen.context)}
    said = [_less("less", work_of(view), **values)]
    if view.model.is_trained:
        said.append(_less("large", work_of(view, LARGE.config), name=LARGE.name))
    return sentences(said)


def _less(key: str, work: dict[str, int], **values: str) -> str:
    less = min(FORMS, key=work.get)
    ratio = times(max(work.values()) / min(work.values()))
    return t(f"absorption.{key}_{less}", ratio=ratio, **values)


def notes(view: View) -> list[str]:
    """Return what is counted, and where the latent is from if the model has none."""
    return [t("absorption.counted"), *filter(None, [ways.assumed(view.model, view.config)])]


def picture(view: View) -> None:
    """Draw the product with the bracket where the reader puts it."""
    both = orders(view)
    data = {
        "forms": [_drawn(view, order) for order in both.values()],
        "told": [_alt_picture(order) for order in both.values()],
    }
    side = view.chosen.side
    labels = (f"{t(f'absorption.bracket_{form}')} {PLAIN[side, form]}" for form in FORMS)
    dial = Dial("ab_order", t("absorption.order"), FORMS, tuple(labels))
    options = {"table": partial(counts, view), "file": "mla_brackets.csv"}
    motion.show("bracket", "absorption:brackets", [dial], data, **options)


def _drawn(view: View, order: Bracketing) -> dict[str, Any]:
    heads = count(view.config.n_heads)
    return {
        "factors": [_box(factor) for factor in order.factors],
        "inner": _box(order.inner),
        "result": _box(order.result),
        "steps": [
            t("absorption.step", adds=prefixed_count(adds), heads=heads)
            for adds in order.multiply_adds
        ],
    }


def _box(matrix: Matrix) -> dict[str, Any]:
    """Return a matrix as the picture draws it, turned so that it fits the product."""
    return {
        "code": matrix.code,
        "label": motion.parts("a" if matrix.code == "attention" else matrix.code),
        "rows": matrix.rows,
        "columns": matrix.columns,
        "role": SYMBOLS[matrix.code].role,
        "size": f"{count(matrix.rows)} × {count(matrix.columns)}",
    }


def _alt_picture(order: Bracketing) -> str:
    left, middle, right, inner = (
        f"{m.code} {m.rows} × {m.columns}" for m in (*order.factors, order.inner)
    )
    first, then = map(prefixed_count, order.multiply_adds)
    facts = {"left": left, "middle": middle, "right": right, "inner": inner}
    return t("absorption.alt_brackets", first=first, then=then, **facts)


def work(view: View) -> None:
    """Draw the multiply-adds of both orders, the chosen one stressed."""
    rows = [order.multiply_adds for order in orders(view).values()]
    totals = [prefixed_count(sum(row)) for row in rows]
    axis = t("absorption.axis_adds")
    figure = _bars(view, axis, ("bracket", "then"), rows, totals)
    charts.show(figure, "absorption:adds", alt=_alt_bars("adds", totals))


def traffic(view: View) -> None:
    """Draw the bytes that both orders move, the chosen one stressed."""
    rows = [order.moved_bytes(BF16_BYTES) for order in orders(view).values()]
    totals = [size(sum(row)) for row in rows]
    unit_bytes, unit = unit_of(max(map(sum, rows)))
    amounts = [[part / unit_bytes for part in row] for row in rows]
    axis = t("absorption.axis_bytes", unit=unit)
    figure = _bars(view, axis, ("read", "twice", "result"), amounts, totals)
    charts.show(figure, "absorption:bytes", alt=_alt_bars("bytes", totals))


def _alt_bars(key: str, totals: list[str]) -> str:
    absorbed, expanded = totals
    return t(f"absorption.alt_{key}", absorbed=absorbed, expanded=expanded)


def _bars(
    view: View, axis: str, parts: tuple[str, ...], rows: Sequence[Sequence], totals: list[str]
) -> charts.Drawing:
    """Return bars of both orders, each made of its parts."""
    amounts = zip(*rows, strict=True)
    return partial(
        figures.bars,
        [PLAIN[view.chosen.side, form] for form in FORMS],
        {t(f"absorption.{part}"): of_part for part, of_part in zip(parts, amounts, strict=True)},
        axis=axis,
        chosen=FORMS.index(view.chosen.order),
        totals=totals,
        roles=(0, 1, 2),
        height=BARS,
    )


def counts(view: View) -> pd.DataFrame:
    """Return every number of both orders, in codes."""
    rows = []
    for form, order in orders(view).items():
        inside, after = order.multiply_adds
        factors, bracket, result = order.moved_bytes(BF16_BYTES)
        rows.append(
            {
                "product": view.chosen.side,
                "order": form,
                "new_tokens": view.chosen.queries,
                "cached_tokens": view.chosen.context,
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
