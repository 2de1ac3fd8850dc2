"""What makes a cache small: bytes of a token = width x length x depth x bits / 8.

MLA and GQA make entries narrow, pooling makes them few, layers with a state, a window or another
layer's cache keep none that grow, and FP8 and FP4 make their numbers short. The product is exact:
each factor is the mean over what the factors before it leave.
"""

from dataclasses import dataclass
from fractions import Fraction

from mla_engine.model_caches.parts import Model
from mla_engine.model_caches.storage import Storage

__all__ = ["BITS", "LEVERS", "Levers", "levers"]

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
        width, length, depth, bits = self.as_mha, Fraction(1), self.layers, Fraction(BITS)
        found = {"mha": width * length * depth * bits / 8}
        for name in LEVERS:
            width = self.width if name == "width" else width
            length = self.length if name == "length" else length
            depth = self.depth if name == "depth" else depth
            bits = self.bits if name == "bits" else bits
            found[name] = width * length * depth * bits / 8
        return found


def levers(model: Model, storage: Storage) -> Levers | None:
    """The factors of a model's cache, None where nothing grows or it has no heads to begin with.

    Args:
        model: whose cache.
        storage: the types of its parts.
    """
    growing = [
        [part for part in layer.parts if part.stored and part.growth == "grows"]
        for layer in model.layers
    ]
    rows = [
        (part, storage.row_bytes(layer.kind, part))
        for layer, parts in zip(model.layers, growing, strict=True)
        for part in parts
    ]
    if not rows or not model.as_mha:
        return None
    depth = sum(map(bool, growing))
    numbers = sum(part.numbers for part, _ in rows)
    entered = sum((part.numbers * part.rows_per_token for part, _ in rows), Fraction(0))
    n_bytes = sum((one * part.rows_per_token for part, one in rows), Fraction(0))
    return Levers(
        width=Fraction(numbers, depth),
        length=entered / numbers,
        depth=depth,
        bits=8 * n_bytes / entered,
        as_mha=model.as_mha,
        layers=sum(layer.kind != "none" for layer in model.layers),
    )
