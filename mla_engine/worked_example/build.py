"""The kinds of steps that the example is made of: each takes matrices and returns a `Step`."""

from collections.abc import Callable
from fractions import Fraction

from mla_engine.worked_example.numbers import Gap, Number, cosine_sine, exponential, square_root
from mla_engine.worked_example.step import Cell, Matrix, Place, Step, dot, equation, factor

Cells = tuple[tuple[Cell, ...], ...]


def _grid(rows: int, columns: int, cell: Callable[[int, int], Cell]) -> Cells:
    return tuple(tuple(cell(row, column) for column in range(columns)) for row in range(rows))


def product(name: str, left: Matrix, right: Matrix) -> Step:
    """Return a matrix product, row by column."""
    operands = (left, right)

    def cell(row: int, column: int) -> Cell:
        inner = range(right.shape[0])
        return dot(operands, [((0, row, k), (1, k, column)) for k in inner])

    cells = _grid(left.shape[0], right.shape[1], cell)
    exact, axes = left.exact and right.exact, (left.axes[0], right.axes[1])
    return Step(name, name, operands, cells, axes, exact, sign="×")


def heads(key: str, column: Matrix, n_heads: int) -> Step:
    """Return a column of all heads, written as one row per head."""
    width = column.shape[0] // n_heads

    def cell(row: int, place: int) -> Cell:
        return _copy((column,), (0, row * width + place, 0))

    axes = tuple(column.axes[0].split())
    cells = _grid(n_heads, width, cell)
    return Step(key, column.name, (column,), cells, axes, column.exact, repeats=True)


def _copy(operands: tuple[Matrix, ...], place: Place) -> Cell:
    index, row, column = place
    value = operands[index].rows[row][column]
    label = f"{operands[index].name}[{row + 1}, {column + 1}]"
    return Cell(value, "" if isinstance(value, Gap) else equation(label, value), frozenset([place]))


def joined(name: str, content: Matrix, position: Matrix, **more: object) -> Step:
    """Return content parts [h, k] with the position part behind: [h r, 1], or one for all heads."""

    def cell(row: int, column: int) -> Cell:
        if column < content.shape[1]:
            return _copy((content, position), (0, row, column))
        return _copy((content, position), (1, row % position.shape[0], 0))

    cells = _grid(content.shape[0], content.shape[1] + 1, cell)
    axes = ("h", "k+r")
    more |= {"repeats": True, "sign": ";"}
    return Step(name, name, (content, position), cells, axes, **more)


def unknown(
    name: str,
    operands: tuple[Matrix, ...],
    shape: tuple[int, int],
    axes: tuple[str, str],
    **more: object,
) -> Step:
    """Return a step that the source names without giving what it takes."""
    cells = _grid(*shape, lambda *_: Cell(Gap.MISSING, ""))
    return Step(name, name, operands, cells, axes, **more)


def rotated(name: str, before: Matrix) -> Step:
    """Rotate pairs of rows: column t turns by the angle t (one pair per head, frequency 1)."""
    angles = [cosine_sine(position) for position in range(before.shape[1])]
    turn = Matrix("rotation", tuple(zip(*angles, strict=True)), ("cos sin", "t"), exact=False)
    operands = (before, turn)

    def cell(row: int, column: int) -> Cell:
        x, y = (before.rows[row - row % 2 + k][column] for k in range(2))
        cosine, sine = angles[column]
        used = frozenset((0, row - row % 2 + k, column) for k in range(2))
        used |= {(1, 0, column), (1, 1, column)}
        inside = (x, y, cosine, sine)
        if row % 2:
            text = f"{factor(x)} × {factor(sine)} + {factor(y)} × {factor(cosine)}"
            value = x * sine + y * cosine
        else:
            text = f"{factor(x)} × {factor(cosine)} \N{MINUS SIGN} {factor(y)} × {factor(sine)}"
            value = x * cosine - y * sine
        return Cell(value, equation(text, value, inside), used)

    cells = _grid(*before.shape, cell)
    return Step(name, name, operands, cells, before.axes, exact=False, sign="↻")


def row_scores(key: str, q: Matrix, k: Matrix, width: int, **more: object) -> Step:
    """One token: row of q times row of k per head, over the square root of `width`."""

    def cell(row: int, _: int) -> Cell:
        return dot((q, k), [((0, row, j), (1, row, j)) for j in range(q.shape[1])], width)

    exact = q.exact and k.exact and square_root(width)[1]
    name, cells = key.removesuffix("_printed"), _grid(q.shape[0], 1, cell)
    return Step(key, name, (q, k), cells, ("h", "s"), exact, sign="·", **more)


def token_scores(key: str, q: Matrix, k: Matrix, width: int, n_heads: int) -> Step:
    """Columns of q [h r, t] times columns of k [h r, s] or [r, s], per head: rows (head, t)."""
    tokens, part = q.shape[1], q.shape[0] // n_heads
    shared = k.shape[0] < q.shape[0]

    def cell(row: int, s: int) -> Cell:
        head, t = divmod(row, tokens)
        rows = [head * part + j for j in range(part)]
        pairs = [((0, row, t), (1, row % part if shared else row, s)) for row in rows]
        return dot((q, k), pairs, width)

    exact = q.exact and k.exact and square_root(width)[1]
    name, cells = key.removesuffix("_unmasked"), _grid(n_heads * tokens, tokens, cell)
    return Step(key, name, (q, k), cells, ("h t", "s"), exact, sign="·")


def masked(name: str, parts: tuple[Matrix, ...]) -> Step:
    """Return the sum of the parts [h t, s]; a token later than the query is hidden."""
    tokens = parts[0].shape[1]

    def cell(row: int, s: int) -> Cell:
        t, used = row % tokens, frozenset((index, row, s) for index in range(len(parts)))
        if s > t:
            return Cell(Gap.MASKED, f"s = {s} > t = {t}: \N{MINUS SIGN}∞", used)
        values = tuple(part.rows[row][s] for part in parts)
        value = sum(values, Fraction(0))
        text = " + ".join(map(factor, values)) if len(values) > 1 else f"s = {s} ≤ t = {t}: s"
        return Cell(value, equation(text, value, values), used)

    exact = all(part.exact for part in parts)
    cells = _grid(*parts[0].shape, cell)
    return Step(name, name, parts, cells, ("h t", "s"), exact, sign="+")


def softmax(name: str, scores: Matrix, **more: object) -> Step:
    """Return the softmax of each row; hidden tokens weigh 0, a single key weighs 1 anyway."""

    def cell(row: int, column: int) -> Cell:
        values = scores.rows[row]
        used = frozenset((0, row, s) for s in range(len(values)))
        if len(values) == 1:
            power = _power(values[0])
            return Cell(Fraction(1), f"{power} / {power} = 1", used)
        known = [value for value in values if isinstance(value, Fraction)]
        # Subtracting the largest score changes nothing in the quotient and keeps e^x small.
        powers = [
            Fraction(0) if isinstance(value, Gap) else exponential(value - max(known))
            for value in values
        ]
        value = powers[column] / sum(powers)
        text = " + ".join(map(_power, values))
        shown = equation(f"{_power(values[column])} / ({text})", value, tuple(values))
        return Cell(value, shown, used)

    exact = scores.shape[1] == 1
    cells = _grid(*scores.shape, cell)
    return Step(name, name, (scores,), cells, scores.axes, exact, **more)


def _power(score: Number) -> str:
    """Return e to the score in writing; x where the score is not given, a fraction in brackets."""
    text = "x" if score is Gap.MISSING else factor(score)
    return f"e^({text})" if text[0] != "(" and "/" in text else f"e^{text}"


def weighted(name: str, attention: Matrix, v: Matrix, n_heads: int) -> Step:
    """Return attention [h t, s] times values: one token's [h, v], or a column a token [h v, s]."""
    by_head = v.axes[0] == "h"
    tokens, part = (1, v.shape[1]) if by_head else (v.shape[1], v.shape[0] // n_heads)

    def cell(row: int, column: int) -> Cell:
        if by_head:
            return dot((attention, v), [((0, row, 0), (1, row, column))])
        source = row // part * tokens + column
        return dot((attention, v), [((0, source, s), (1, row, s)) for s in range(tokens)])

    axes = ("h", "v") if by_head else ("h v", "t")
    exact = attention.exact and v.exact
    cells = _grid(*v.shape, cell)
    return Step(name, name, (attention, v), cells, axes, exact, sign="×")


def count(key: str, sizes: dict[str, int], text: str, value: int, **more: object) -> Step:
    """Return a number of cached elements out of sizes; `text` writes it out."""
    operands = tuple(Matrix(name, ((Fraction(size),),), ("", "")) for name, size in sizes.items())
    used = frozenset((index, 0, 0) for index in range(len(operands)))
    cells = ((Cell(Fraction(value), f"{text} = {value}", used),),)
    return Step(key, key, operands, cells, ("", ""), **more)


def ratio(key: str, above: Matrix, below: Matrix) -> Step:
    """Return one number over another."""
    a, b = above.rows[0][0], below.rows[0][0]
    cell = Cell(
        a / b, equation(f"{factor(a)} / {factor(b)}", a / b), frozenset({(0, 0, 0), (1, 0, 0)})
    )
    return Step(key, key, (above, below), ((cell,),), ("", ""), sign="÷")
