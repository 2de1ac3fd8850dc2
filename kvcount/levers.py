"""The levers of a cache: bytes of a token = width x length x depth x bits / 8.

MLA and GQA make entries narrow, pooling makes them few, layers with a state, a window or another
layer's cache keep none that grow, and FP8 and FP4 make their numbers short. The product is exact:
each factor is the mean over what the factors before it leave.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from kvcount.dtypes import Storage
from kvcount.parts import Model

__all__ = ["BITS", "LEVERS", "Levers", "Rows", "levers", "read_per_token", "rows"]

LEVERS = ("width", "length", "depth", "bits")
BITS = 16  # of a number in bf16


@dataclass(frozen=True, kw_only=True)
class Levers:
    """The four factors of what a model stores of each further token, and where they begin.

    Args:
        width: numbers of a row, the mean of the layers that keep rows.
        length: rows of a token, 1 where each has its own.
        depth: layers that keep rows.
        bits: of a number, with its share of the scales.
        as_mha: numbers of a row with a key and a value for every query head.
        layers: all that mix tokens.
    """

    width: Fraction
    length: Fraction
    depth: int
    bits: Fraction
    as_mha: int
    layers: int

    @property
    def bytes_per_token(self) -> Fraction:
        """The product."""
        return self.width * self.length * self.depth * self.bits / 8

    @property
    def steps(self) -> dict[str, Fraction]:
        """Bytes of a token as MHA in bf16, and after each lever in turn."""
        factors = {"width": self.as_mha, "length": 1, "depth": self.layers, "bits": BITS}
        found = {"mha": Fraction(prod(factors.values()), 8)}
        for name in LEVERS:
            factors[name] = getattr(self, name)
            found[name] = Fraction(prod(factors.values()), 8)
        return found


@dataclass(frozen=True)
class Rows:
    """Layers that keep rows of one kind: how many, numbers of a row, tokens that it stands for."""

    layers: int
    numbers: int
    tokens: int


def rows(model: Model) -> list[Rows]:
    """Return the layers whose rows grow, those of one kind together, in the order of the first.

    Where a layer's parts have rows of their own, all numbers count as one row of the widest part.
    """
    found: dict[tuple[int, int], int] = {}
    for layer, n in model.groups.items():
        if grown := layer.growing:
            tokens = max(grown, key=lambda part: part.numbers).length
            each = (sum(part.numbers for part in grown), tokens)
            found[each] = found.get(each, 0) + n
    return [Rows(n, numbers, tokens) for (numbers, tokens), n in found.items()]


def read_per_token(model: Model, storage: Storage, context: int) -> Fraction:
    """Bytes of growing rows that the token after `context` others reads, for each of these."""
    read = sum(
        n * part.rows_read(context) * storage.row_bytes(layer.kind, part)
        for layer, n in model.groups.items()
        for part in layer.parts
        if part.growth == "grows"
    )
    return Fraction(read) / context


def levers(model: Model, storage: Storage) -> Levers | None:
    """The factors of a model's cache, None where nothing grows or it has no heads to begin with.

    Args:
        model: whose cache.
        storage: the types of its parts.
    """
    of_rows = [
        (n, part, storage.row_bytes(layer.kind, part))
        for layer, n in model.groups.items()
        for part in layer.growing
    ]
    if not of_rows or not model.as_mha:
        return None
    depth = sum(n for layer, n in model.groups.items() if layer.growing)
    numbers = sum(n * part.numbers for n, part, _ in of_rows)
    entered = sum((n * part.numbers * part.rows_per_token for n, part, _ in of_rows), Fraction(0))
    n_bytes = sum((n * one * part.rows_per_token for n, part, one in of_rows), Fraction(0))
    return Levers(
        width=Fraction(numbers, depth),
        length=entered / numbers,
        depth=depth,
        bits=8 * n_bytes / entered,
        as_mha=model.as_mha,
        layers=sum(n for layer, n in model.groups.items() if layer.parts),
    )
