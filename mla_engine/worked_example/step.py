"""One step of the example: a formula, its operands, its result, and the figures that were printed.

Every cell of a result carries its own terms, written out, and the operand cells they read.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from mla_engine.worked_example.numbers import Gap, Number, show, square_root

Place = tuple[int, int, int]


@dataclass(frozen=True)
class Matrix:
    """A named matrix of exact numbers.

    Attributes:
        name: the code of its symbol.
        rows: its numbers; a `Gap` where there is none.
        axes: what runs along rows and columns, in the einsum letters ("h k" for head by head).
        exact: False where irrational numbers were rounded on the way.
        ours: cells (row, column) that the published example does not give and we supply.
        printed: True where these are the figures of the source instead of computed ones.
    """

    name: str
    rows: tuple[tuple[Number, ...], ...]
    axes: tuple[str, str]
    exact: bool = True
    ours: frozenset[tuple[int, int]] = frozenset()
    printed: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.rows), len(self.rows[0])


@dataclass(frozen=True)
class Cell:
    """One number of a result: its value, its terms in writing, the operand cells it reads."""

    value: Number
    terms: str
    used: frozenset[Place] = frozenset()


@dataclass(frozen=True)
class Step:
    """One formula of the example, evaluated.

    Attributes:
        key: its name within the variant.
        name: the code of the symbol that it computes.
        operands: the matrices that enter, in the order of the formula.
        cells: the result, cell by cell.
        axes: what runs along the rows and columns of the result.
        exact: False where irrational numbers were rounded.
        formula: the equation in LaTeX.
        missing: what the source does not give and this step needs.
        notes: codes of remarks that belong to the step.
        published: the figures as printed, None in cells without one; None if nothing is printed.
        repeats: True where the printed figures stand for the second time.
        sign: what stands between the operands, where there are several.
    """

    key: str
    name: str
    operands: tuple[Matrix, ...]
    cells: tuple[tuple[Cell, ...], ...] = field(repr=False)
    axes: tuple[str, str]
    exact: bool = True
    formula: str = ""
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    published: tuple[tuple[str | None, ...], ...] | None = None
    repeats: bool = False
    sign: str = ","

    @property
    def result(self) -> Matrix:
        """The computed matrix."""
        rows = tuple(tuple(cell.value for cell in row) for row in self.cells)
        return Matrix(self.name, rows, self.axes, self.exact)

    def is_number(self, row: int, column: int) -> bool:
        """Return whether the cell holds a number."""
        return not isinstance(self.cells[row][column].value, Gap)

    def terms(self, row: int, column: int) -> str:
        """Return the cell written out: a x b + c x d = result; empty where it is unknown."""
        return self.cells[row][column].terms

    def used(self, row: int, column: int) -> frozenset[Place]:
        """Return operand cells (operand, row, column) that the cell reads."""
        return self.cells[row][column].used

    def printed(self, row: int, column: int) -> str | None:
        """Return the printed figure of the cell, if there is one."""
        return self.published[row][column] if self.published else None

    def difference(self, row: int, column: int) -> Fraction | None:
        """Return computed less printed, None where either is not there."""
        figure, value = self.printed(row, column), self.cells[row][column].value
        return None if figure is None or isinstance(value, Gap) else value - Fraction(figure)

    def follows(self, row: int, column: int) -> bool | None:
        """Return whether the printed figure is the computed one, rounded to as many decimals."""
        figure = self.printed(row, column)
        if figure is None:
            return None
        difference = self.difference(row, column)
        half_a_digit = Fraction(1, 2 * 10 ** len(figure.partition(".")[2]))
        return difference is not None and abs(difference) <= half_a_digit


def factor(value: Number) -> str:
    """Return a number inside a formula: negative ones in brackets."""
    text = show(value).removeprefix("≈")
    return f"({text})" if text.startswith("\N{MINUS SIGN}") else text


def equation(left: str, value: Number, inside: tuple[Number, ...] = ()) -> str:
    """Return the text `left = value`, with ≈ where it or a number inside is shown rounded."""
    rounded = any(show(number).startswith("≈") for number in (value, *inside))
    return f"{left} {'≈' if rounded else '='} {show(value).removeprefix('≈')}"


def dot(
    operands: tuple[Matrix, ...], pairs: list[tuple[Place, Place]], under_root: int = 1
) -> Cell:
    """Return the sum of products of operand cells, over a root; missing where one of them is."""
    factors = [
        tuple(operands[index].rows[row][column] for index, row, column in pair) for pair in pairs
    ]
    used = frozenset(place for pair in pairs for place in pair)
    inside = tuple(value for pair in factors for value in pair)
    if any(isinstance(value, Gap) for value in inside):
        return Cell(Gap.MISSING, "", used)
    value = sum((a * b for a, b in factors), Fraction(0)) / square_root(under_root)[0]
    text = " + ".join(f"{factor(a)} × {factor(b)}" for a, b in factors)
    text = text if under_root == 1 else f"({text}) / √{under_root}"
    return Cell(value, equation(text, value, inside), used)
