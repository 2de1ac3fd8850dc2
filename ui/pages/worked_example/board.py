"""The worked example's matrices as accessible tables: operands, result, and the printed figures."""

import html

from mla_engine.figures import symbol_html
from mla_engine.symbols import SYMBOLS
from mla_engine.worked_example import Matrix, Step, show
from ui.pages.worked_example.view import View
from ui.words import numbers
from ui.words.text import linked, t, tooltip

Places = frozenset[tuple[int, int]]
_ROLE = {"rotation": "rope", "cache_mla": "latent", "cache_mha": "key"}
_WORDS = ("rotation", "cache_mha", "cache_mla", "cache_ratio")  # names that are no symbols


def name_html(name: str) -> str:
    """A matrix's name in the colour of its kind."""
    text = html.escape(t(f"worked_example.name_{name}")) if name in _WORDS else symbol_html(name)
    return f'<span class="tensor {_role(name)}"{tooltip(name)}>{text}</span>'


def _role(name: str) -> str:
    return SYMBOLS[name].role if name in SYMBOLS else _ROLE.get(name, "weight")


def _labels(axis: str, size: int) -> list[str]:
    """What stands beside rows or above columns; empty where counting is enough."""
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


def _table(rows: list[list[str]], axes: tuple[str, str]) -> str:
    """Cells (each a whole `<td>`) with row and column labels where the axes have any."""
    left, top = _labels(axes[0], len(rows)), _labels(axes[1], len(rows[0]))
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
    """One operand; `used` cells are outlined, what we supplied is dotted, `changed` is said."""

    def cell(row: int, column: int) -> str:
        classes = ["used"] * ((row, column) in used) + ["ours"] * ((row, column) in matrix.ours)
        return f'<td class="{" ".join(classes)}">{show(matrix.rows[row][column])}</td>'

    rows = [[cell(r, c) for c in range(matrix.shape[1])] for r in range(matrix.shape[0])]
    states = {"ours": bool(matrix.ours), "as_printed": matrix.printed, "changed": changed}
    said = "".join(f" <em>{t(f'worked_example.{k}')}</em>" for k, is_so in states.items() if is_so)
    caption = f"{name_html(matrix.name)} {_shape(matrix)}{said}"
    return _figure("operand", matrix.name, caption, _table(rows, matrix.axes))


def result(step: Step, chosen: tuple[int, int], hidden: bool) -> str:
    """The computed matrix; every cell is a button that chooses it, without its number if asked."""
    matrix = step.result

    def cell(row: int, column: int) -> str:
        here = (row, column) == chosen
        place = t("worked_example.place", row=row + 1, column=column + 1)
        return (
            f'<td class="{"chosen" if here else ""}"><button type="button" aria-pressed='
            f'"{str(here).lower()}" title="{place}" data-cell="{row + 1},{column + 1}">'
            f"{'?' if hidden else show(matrix.rows[row][column])}</button></td>"
        )

    rows = [[cell(r, c) for c in range(matrix.shape[1])] for r in range(matrix.shape[0])]
    said = "worked_example.asked" if hidden else "worked_example.computed"
    caption = f"{name_html(step.name)} {_shape(matrix)} <em>{t(said)}</em>"
    return _figure("result", step.name, caption, _table(rows, matrix.axes))


def printed(step: Step, chosen: tuple[int, int]) -> str:
    """The figures as printed, each with a mark: ≠ where it does not follow, ✓ where it does."""
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
    shape = step.result.shape
    rows = [[cell(r, c) for c in range(shape[1])] for r in range(shape[0])]
    caption = f"<em>{t('worked_example.in_the_source')}</em>"
    return _figure("printed", "", caption, _table(rows, step.axes))


def sign(step: Step) -> str:
    """What stands between the operands."""
    first = step.operands[0].name
    if first.startswith("W_") or step.key == "o":
        return "×"
    if step.key == "cache_ratio":
        return "÷"
    if first == "scores_C":
        return "+"
    if step.operands[-1].name == "rotation":
        return "↻"
    if first in ("q", "q_C", "q_R") and step.name.startswith("scores"):
        return "·"
    return ";" if step.key in ("q", "k") else ","


def board(here: View) -> str:
    """The whole step in a row: operands, result, and the source's figures if they are asked for."""
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
    between = f'<span class="sign">{sign(step)}</span>'
    equal = f'<span class="sign">{"=" if len(operands) > 1 else "→"}</span>'
    return (
        f'<div class="board">{between.join(operands)}{equal}'
        f"{result(step, chosen, here.open)}{printed(step, chosen) if here.compares else ''}</div>"
    )
