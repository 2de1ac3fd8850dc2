"""The worked example's matrices: a step as accessible tables, and all steps as a file."""

import html
from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from mla_engine.figures import symbol_html
from mla_engine.symbols import SYMBOLS
from mla_engine.worked_example import Gap, Matrix, Step, show
from ui.pages.worked_example.view import View
from ui.parts import files
from ui.settings.visit import visit
from ui.words import numbers
from ui.words.text import linked, t, tooltip

Places = frozenset[tuple[int, int]]
_ROLE = {"rotation": "rope", "cache_mla": "latent", "cache_mha": "key"}
_WORDS = ("rotation", "cache_mha", "cache_mla", "cache_ratio")  # names that are no symbols


def name_html(name: str) -> str:
    """Return a matrix's name in the colour of its kind."""
    text = html.escape(t(f"worked_example.name_{name}")) if name in _WORDS else symbol_html(name)
    return f'<span class="tensor {_role(name)}"{tooltip(name)}>{text}</span>'


def _role(name: str) -> str:
    return SYMBOLS[name].role if name in SYMBOLS else _ROLE.get(name, "weight")


def _labels(axis: str, size: int) -> list[str]:
    """Return what stands beside rows or above columns; empty where counting is enough."""
    first, _, second = axis.partition(" ")
    if axis in ("t", "s"):
        return [f"{axis} = {place}" if size > 1 else "" for place in range(size)]
    if axis == "cos sin":
        return ["cos t", "sin t"]
    if first != "h":
        return [""] * size
    part = size // 2 if second else 1
    heads = [t("worked_example.head", head=1 + place // part) for place in range(size)]
    if second == "t":
        return [f"{head}, t = {place % part}" for place, head in enumerate(heads)]
    return [head if place % part == 0 else "" for place, head in enumerate(heads)]


def _table(shape: tuple[int, int], axes: tuple[str, str], cell: Callable[[int, int], str]) -> str:
    """Return cells (each a whole `<td>`) with row and column labels where the axes have any."""
    rows = [[cell(row, column) for column in range(shape[1])] for row in range(shape[0])]
    left, top = (_labels(axis, size) for axis, size in zip(axes, shape, strict=True))
    head = [f'<th scope="col">{label}</th>' for label in top] if any(top) else []
    side = [f'<th scope="row">{label}</th>' if any(left) else "" for label in left]
    corner = "<td class='corner'></td>" if any(left) and head else ""
    body = [f"<tr>{label}{''.join(row)}</tr>" for label, row in zip(side, rows, strict=True)]
    return f"<table><tr>{corner}{''.join(head)}</tr>{''.join(body)}</table>"


def _figure(kind: str, name: str, caption: str, table: str) -> str:
    classes = f"matrix {kind} {_role(name) if name else ''}"
    return (
        f'<figure class="{classes.strip()}"{linked(name)}>'
        f"<figcaption>{caption}</figcaption>{table}</figure>"
    )


def _shape(matrix: Matrix) -> str:
    return f"<small>{matrix.shape[0]} × {matrix.shape[1]}</small>"


def operand(matrix: Matrix, used: Places, changed: bool) -> str:
    """Return an operand; `used` cells are outlined, ours dotted, `changed` is said."""

    def cell(row: int, column: int) -> str:
        classes = ["used"] * ((row, column) in used) + ["ours"] * ((row, column) in matrix.ours)
        return f'<td class="{" ".join(classes)}">{show(matrix.rows[row][column])}</td>'

    states = {"ours": bool(matrix.ours), "as_printed": matrix.printed, "changed": changed}
    said = "".join(f" <em>{t(f'worked_example.{k}')}</em>" for k, is_so in states.items() if is_so)
    caption = f"{name_html(matrix.name)} {_shape(matrix)}{said}"
    return _figure("operand", matrix.name, caption, _table(matrix.shape, matrix.axes, cell))


def result(step: Step, chosen: tuple[int, int], hidden: bool) -> str:
    """Return the computed matrix; every cell is a button that chooses it, `hidden` with ? on it."""
    matrix = step.result

    def cell(row: int, column: int) -> str:
        here = (row, column) == chosen
        place = t("worked_example.place", row=row + 1, column=column + 1)
        return (
            f'<td class="{"chosen" if here else ""}"><button type="button" aria-pressed='
            f'"{str(here).lower()}" title="{place}" data-cell="{row + 1},{column + 1}">'
            f"{'?' if hidden else show(matrix.rows[row][column])}</button></td>"
        )

    said = "worked_example.asked" if hidden else "worked_example.computed"
    caption = f"{name_html(step.name)} {_shape(matrix)} <em>{t(said)}</em>"
    return _figure("result", step.name, caption, _table(matrix.shape, matrix.axes, cell))


def printed(step: Step, chosen: tuple[int, int]) -> str:
    """Return the figures as printed, each marked: ≠ where it does not follow, ✓ where it does."""
    marks = {True: ("✓", "follows"), False: ("≠", "differs")}

    def cell(row: int, column: int) -> str:
        figure, here = step.printed(row, column), (row, column) == chosen
        if figure is None:
            return '<td class="unprinted">–</td>'
        mark, kind = marks[step.follows(row, column)]
        figure = html.escape(numbers.printed(figure))
        label = t(f"worked_example.{kind}")
        return (
            f'<td class="{kind}{" chosen" if here else ""}">{figure}'
            f'<b role="img" aria-label="{label}" title="{label}">{mark}</b></td>'
        )

    if not step.published:
        return _figure("printed", "", f"<em>{t('worked_example.nothing_printed')}</em>", "")
    caption = f"<em>{t('worked_example.in_the_source')}</em>"
    return _figure("printed", "", caption, _table(step.result.shape, step.axes, cell))


def row(here: View) -> str:
    """Return the step in a row: operands, result, and the source's figures if asked for."""
    step, chosen = here.step, here.chosen
    used = step.used(*chosen)
    operands = [
        operand(
            matrix,
            frozenset((r, c) for where, r, c in used if where == index),
            matrix.name in here.changed,
        )
        for index, matrix in enumerate(step.operands)
    ]
    between = f'<span class="sign">{step.sign}</span>'
    equal = f'<span class="sign">{"=" if len(operands) > 1 else "→"}</span>'
    return (
        f'<div class="board">{between.join(operands)}{equal}'
        f"{result(step, chosen, here.open)}{printed(step, chosen) if here.compares else ''}</div>"
    )


def _cells(here: View) -> pd.DataFrame:
    """Return every cell of every step: computed, exact, printed, difference; numbers as numbers.

    `repeats` marks figures that the source prints for the second time: the title counts the others.
    """
    records = [
        {
            "step": place,
            "symbol": step.key,
            "row": row + 1,
            "column": column + 1,
            "computed": _number(value),
            "exact": "" if isinstance(value, Gap) or not step.exact else str(value),
            "terms": step.terms(row, column),
            "printed": _number(step.printed(row, column)),
            "computed_less_printed": _number(step.difference(row, column)),
            "follows": step.follows(row, column),
            "repeats": step.repeats and step.printed(row, column) is not None,
        }
        for place, step in enumerate(here.steps, start=1)
        for row, values in enumerate(step.result.rows)
        for column, value in enumerate(values)
    ]
    return pd.DataFrame(records)


def _number(value: object) -> float | None:
    if value is None or value is Gap.MISSING:
        return None
    return float("-inf") if value is Gap.MASKED else float(value)


def downloads(here: View) -> None:
    """Draw buttons for the table as CSV and as a workbook, which are made on click."""
    visit().tables["steps"] = (f"worked_example_{here.variant}.csv", partial(_cells, here))
    kinds = {
        "csv": ("text/csv", lambda: files.csv(_cells(here))),
        "xlsx": (files.XLSX, lambda: files.xlsx(_cells(here), here.variant)),
    }
    with st.container(horizontal=True):
        for kind, (mime, made) in kinds.items():
            file = f"worked_example_{here.variant}.{kind}"
            files.button(t(f"worked_example.download_{kind}"), made, file, mime, f"we_{kind}")
