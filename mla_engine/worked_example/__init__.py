"""A published worked example of MLA and MHA, exact, beside the figures that were printed with it.

Its source prints one token's matrices and results; most results do not follow from the matrices.
`steps` computes each of them with `fractions.Fraction` and carries the printed figure along.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from kvcount.refusals import RefusedError
from mla_engine.worked_example.numbers import (
    MAX_CHARACTERS,
    Gap,
    Number,
    NumberError,
    Rows,
    format_matrix,
    format_number,
    parse_matrix,
    parse_number,
    show,
)
from mla_engine.worked_example.step import Cell, Matrix, Step
from mla_engine.worked_example.variants import BUILDERS, FORMULAS

__all__ = [
    "INPUTS",
    "MATRICES",
    "MAX_CHARACTERS",
    "VARIANTS",
    "Cell",
    "Gap",
    "Matrix",
    "Number",
    "NumberError",
    "Rows",
    "Step",
    "default",
    "format_matrix",
    "format_number",
    "parse_matrix",
    "parse_number",
    "printed_count",
    "read",
    "show",
    "steps",
]

VARIANTS = tuple(BUILDERS)
_MLA = ("h", "W_DKV", "W_DQ", "W_KR", "W_UK", "W_UV", "W_UQ")
_MHA = ("h", "W_Q", "W_K", "W_V")
# The matrices that each variant starts from; `_added` ones and W_QR, W_O are ours.
INPUTS: dict[str, tuple[str, ...]] = {
    "mla": _MLA,
    "mha": _MHA,
    "mla_completed": (*_MLA, "h_added", "W_KR_added", "W_QR", "W_O"),
    "mha_completed": (*_MHA, "h_added", "W_O"),
}
MATRICES = tuple(dict.fromkeys(name for names in INPUTS.values() for name in names))
_AXES = {
    name: (rows, columns)
    for rows, columns, names in (
        ("d", "t", "h h_added"),
        ("c", "d", "W_DKV"),
        ("l", "d", "W_DQ"),
        ("r", "d", "W_KR W_KR_added"),
        ("h k", "c", "W_UK"),
        ("h v", "c", "W_UV"),
        ("h k", "l", "W_UQ"),
        ("h r", "l", "W_QR"),
        ("h k", "d", "W_Q W_K"),
        ("h v", "d", "W_V"),
        ("d", "h v", "W_O"),
    )
    for name in names.split()
}


@cache
def _data() -> dict[str, dict]:
    file = files("mla_engine").joinpath("data/worked_example.json")
    return json.loads(file.read_text(encoding="utf-8"))


def default(name: str) -> Rows:
    """Return the matrix of this name that the example starts from: published, or ours if added.

    Raises:
        ValueError: no input has this name.
    """
    texts = _data()["inputs"] | _data()["added"]
    if name not in texts:
        raise RefusedError("no_input", name=name, known=", ".join(texts))
    rows, columns = texts[name].split(";"), texts[name].split(";")[0].split()
    return parse_matrix(texts[name], (len(rows), len(columns)))


def read(name: str, text: str) -> Rows:
    """Return the matrix `name` out of a text, in the shape that it has in the example.

    Raises:
        NumberError: as `parse_matrix`.
    """
    return parse_matrix(text, (len(default(name)), len(default(name)[0])))


def _published(variant: str) -> dict[str, tuple[tuple[str | None, ...], ...]]:
    return {
        key: tuple(
            tuple(None if word == "?" else word for word in line.split())
            for line in text.split(";")
        )
        for key, text in _data()["printed"][variant].items()
    }


def _input(name: str, changed: Mapping[str, Rows]) -> Matrix:
    rows = changed.get(name, default(name))
    shape, expected = (len(rows), len(rows[0])), (len(default(name)), len(default(name)[0]))
    if shape != expected:
        raise RefusedError(
            "matrix_shape",
            name=name,
            rows=shape[0],
            columns=shape[1],
            wanted_rows=expected[0],
            wanted_columns=expected[1],
        )
    ours = name in _data()["added"]
    cells = frozenset((row, column) for row in range(shape[0]) for column in range(shape[1]))
    return Matrix(name, rows, _AXES[name], ours=cells if ours else frozenset())


def _inputs(variant: str, changed: Mapping[str, Rows]) -> dict[str, Matrix]:
    """Return the inputs; the second token is a second column of h, W_KR gets its second row."""
    if unknown := set(changed) - set(INPUTS[variant]):
        known = ", ".join(INPUTS[variant])
        raise RefusedError(
            "unknown_input", variant=variant, unknown=", ".join(sorted(unknown)), known=known
        )
    matrices = {name: _input(name, changed) for name in INPUTS[variant]}
    if "h_added" in matrices:
        h, added = matrices["h"], matrices.pop("h_added")
        rows = tuple(left + right for left, right in zip(h.rows, added.rows, strict=True))
        matrices["h"] = replace(h, rows=rows, ours=frozenset((row, 1) for row in range(len(rows))))
    if "W_KR_added" in matrices:
        rows = matrices["W_KR"].rows + matrices.pop("W_KR_added").rows
        ours = frozenset((1, column) for column in range(len(rows[1])))
        matrices["W_KR"] = replace(matrices["W_KR"], rows=rows, ours=ours)
    return matrices


def _figures(variant: str) -> dict[str, Matrix]:
    """Return the printed figures as matrices to compute with, where all of them are printed."""
    axes = {"q": ("h", "k+r"), "k": ("h", "k+r"), "q_R": ("h r", "t")}
    return {
        key: Matrix(
            key.removesuffix("_heads"),
            tuple(tuple(map(parse_number, row)) for row in rows),
            axes.get(key, ("h", "k")),
            printed=True,
        )
        for key, rows in _published(variant).items()
        if all(figure is not None for row in rows for figure in row)
    }


def steps(variant: str, inputs: Mapping[str, Rows] | None = None) -> tuple[Step, ...]:
    """Return the steps of a variant in order of computation; `inputs` replaces matrices by name.

    Raises:
        ValueError: the variant or an input is unknown, or a matrix has the wrong shape.
    """
    if variant not in BUILDERS:
        raise RefusedError("no_variant", variant=variant, known=", ".join(VARIANTS))
    matrices = _inputs(variant, inputs or {})
    built = BUILDERS[variant](matrices, _figures(variant), _data()["sizes"])
    published, formulas = _published(variant), FORMULAS[variant]
    return tuple(
        replace(
            step,
            formula=formulas[step.key.removesuffix("_printed")],
            published=published.get(step.key),
        )
        for step in built
    )


def printed_count(steps: tuple[Step, ...]) -> tuple[int, int]:
    """Return printed figures that follow from the inputs, and all printed ones; each once."""
    verdicts = [
        step.follows(row, column)
        for step in steps
        if not step.repeats
        for row, cells in enumerate(step.cells)
        for column in range(len(cells))
    ]
    return verdicts.count(True), verdicts.count(True) + verdicts.count(False)
