"""Exact numbers: read from text, written back, and rounded where they are irrational.

One number type serves the whole example, `Fraction`. What is irrational (a root, e^x, a cosine)
becomes a fraction once, correct to `DIGITS` decimals; a matrix says whether that happened.
"""

import re
from decimal import Context, Decimal, Inexact, localcontext
from enum import Enum
from fractions import Fraction
from math import isqrt

from kvcount.refusals import Phrase, RefusedError

DIGITS = 50
MAX_CHARACTERS = 12
SHOWN_DIGITS = 5
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(/(\d+(\.\d*)?|\.\d+))?", re.ASCII)
_WORKING = Context(prec=DIGITS + 20, traps=[])
_ENDING = Context(prec=1000, traps=[Inexact])

Rows = tuple[tuple[Fraction, ...], ...]


class Gap(Enum):
    """The reason that a cell holds no number."""

    MISSING = "missing"
    MASKED = "masked"


Number = Fraction | Gap


class NumberError(RefusedError):
    """A text that is no number or matrix."""

    section = "number"


def parse_number(text: str) -> Fraction:
    """Read a decimal or a fraction exactly; the typographic minus sign counts as a minus.

    Raises:
        NumberError: says what is wrong with the text and how to write it.
    """
    plain = text.replace("\N{MINUS SIGN}", "-")
    if len(plain) > MAX_CHARACTERS:
        raise NumberError("long", place="", given=len(plain), most=MAX_CHARACTERS)
    if re.fullmatch(r"[^eE]+[eE][+-]?\d+", plain):
        raise NumberError("exponent", place="")
    if not _NUMBER.fullmatch(plain):
        raise NumberError("number", place="")
    above, _, below = plain.partition("/")
    if below and not Fraction(below):
        raise NumberError("zero", place="")
    return Fraction(above) / Fraction(below or 1)


def parse_matrix(text: str, shape: tuple[int, int]) -> Rows:
    """Read "0.1 -0.2; 0.2 0.1": rows by semicolons, numbers by spaces, every number exact.

    Raises:
        NumberError: names the row and column (from 1), the value and the fix, or both shapes.
    """
    lines = [line.split() for line in text.strip().rstrip(";").split(";")]
    rows, columns = shape
    for row, line in enumerate(lines, start=1):
        if len(line) != columns or len(lines) != rows:
            raise NumberError(
                "shape",
                given_rows=len(lines),
                row=row,
                given=len(line),
                rows=rows,
                columns=columns,
                found=_rows(len(lines)),
                found_there=_numbers(len(line)),
                wanted=_rows(rows),
                wanted_each=_numbers(columns),
            )
    return tuple(
        tuple(_parse_cell(word, row, column) for column, word in enumerate(line, start=1))
        for row, line in enumerate(lines, start=1)
    )


def _rows(count: int) -> Phrase:
    return Phrase("one_row" if count == 1 else "some_rows", count=count)


def _numbers(count: int) -> Phrase:
    return Phrase("one_number" if count == 1 else "some_numbers", count=count)


def _parse_cell(word: str, row: int, column: int) -> Fraction:
    try:
        return parse_number(word)
    except NumberError as error:
        text = word if len(word) <= 2 * MAX_CHARACTERS else f"{word[: 2 * MAX_CHARACTERS]}..."
        cell = {"row": row, "column": column, "text": text}
        known = error.values | cell | {"place": Phrase("cell", **cell)}
        raise NumberError(error.code, **known) from None


def _exact(value: Fraction) -> Decimal | None:
    """Return the decimal that is the number, or None where it never ends."""
    try:
        return _ENDING.divide(Decimal(value.numerator), Decimal(value.denominator))
    except Inexact:
        return None


def format_number(value: Fraction) -> str:
    """Return the shortest exact text of a number: a decimal where it ends, else a fraction."""
    decimal = _exact(value)
    return min([str(value)] if decimal is None else [f"{decimal:f}", str(value)], key=len)


def format_matrix(rows: Rows) -> str:
    """Return the canonical text of a matrix: `parse_matrix` reads it back to the same numbers."""
    return ";".join(" ".join(format_number(value) for value in row) for row in rows)


def show(value: Number) -> str:
    """Return a number to read: exact where it is short, else rounded and marked by ≈."""
    if isinstance(value, Gap):
        return "?" if value is Gap.MISSING else "\N{MINUS SIGN}∞"
    decimal = _exact(value)
    if decimal is not None and -decimal.as_tuple().exponent <= 2 * SHOWN_DIGITS:
        text = f"{decimal:f}"
    elif len(str(value)) <= SHOWN_DIGITS + 2:
        text = str(value)
    else:
        with localcontext(_WORKING):
            rounded = Decimal(value.numerator) / value.denominator
        text = f"≈{rounded:.{SHOWN_DIGITS}g}"
    return text.replace("-", "\N{MINUS SIGN}")


def _rounded(value: Decimal) -> Fraction:
    return Fraction(round(Fraction(value) * 10**DIGITS), 10**DIGITS)


def square_root(value: int) -> tuple[Fraction, bool]:
    """Return the root, and whether it is exact."""
    if isqrt(value) ** 2 == value:
        return Fraction(isqrt(value)), True
    return _rounded(_WORKING.sqrt(Decimal(value))), False


def exponential(value: Fraction) -> Fraction:
    """Return the exponential of a number that is not positive, to `DIGITS` decimals."""
    if value < -3 * DIGITS:
        return Fraction(0)
    return _rounded(_WORKING.exp(_WORKING.divide(Decimal(value.numerator), value.denominator)))


def cosine_sine(angle: int) -> tuple[Fraction, Fraction]:
    """Return cosine and sine of a small angle in radians, by their power series."""
    term, sums = Fraction(1), [Fraction(0), Fraction(0)]
    for order in range(60):
        sums[order % 2] += term * (-1) ** (order // 2)
        term *= Fraction(angle, order + 1)
    cosine, sine = (Fraction(round(value * 10**DIGITS), 10**DIGITS) for value in sums)
    return cosine, sine
