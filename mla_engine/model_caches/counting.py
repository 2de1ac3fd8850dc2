"""Counting: numbers and bytes of a layer, and of all layers of a kind together.

One formula for all: rows x (numbers x bits + scales) / 8, summed over the parts of the layers.
Stored and read are two numbers: an indexer lets attention read few of the rows that are stored,
and a layer that shares another's cache reads what it does not store.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from mla_engine.model_caches.parts import Layer, Model, Part
from mla_engine.model_caches.storage import Storage


def numbers_per_token(layer: Layer) -> Fraction:
    """Numbers that each further token adds for good."""
    return sum((part.numbers * part.rows_per_token for part in _stored(layer)), Fraction(0))


def bytes_per_token(layer: Layer, storage: Storage, ranks: int = 1) -> Fraction:
    """Their bytes, on the fullest of `ranks` GPUs that split the heads."""
    return sum(
        (
            storage.row_bytes(layer.kind, part, ranks) * part.rows_per_token
            for part in _stored(layer)
        ),
        Fraction(0),
    )


def held_bytes(layer: Layer, storage: Storage, context: int, ranks: int = 1) -> Fraction:
    """Bytes that a sequence of `context` tokens takes, windows and states included."""
    return _bytes(layer, storage, ranks, ((part, part.rows(context)) for part in _stored(layer)))


def most_bytes(layer: Layer, storage: Storage, context: int, ranks: int = 1) -> Fraction:
    """Bytes that no sequence of up to `context` tokens exceeds."""
    return _bytes(
        layer, storage, ranks, ((part, part.most_rows(context)) for part in _stored(layer))
    )


def read_bytes(layer: Layer, storage: Storage, context: int, ranks: int = 1) -> Fraction:
    """Bytes of the cache that the token after `context` others reads."""
    rows = ((part, part.rows_read(context)) for part in layer.parts)
    return _bytes(layer, storage, ranks, rows)


def _stored(layer: Layer) -> tuple[Part, ...]:
    return tuple(part for part in layer.parts if part.stored)


def _bytes(
    layer: Layer, storage: Storage, ranks: int, rows: Iterable[tuple[Part, int]]
) -> Fraction:
    return sum(
        (n_rows * storage.row_bytes(layer.kind, part, ranks) for part, n_rows in rows), Fraction(0)
    )


@dataclass(frozen=True, kw_only=True)
class OfKind:
    """What layers that keep the same add up to, for one sequence.

    Args:
        kind: of these layers, and how many they are.
        numbers_per_token, bytes_per_token: what each further token adds for good, over them all.
        window_bytes: what does not grow beyond a window, at most.
        state_bytes: what does not grow at all.
        held_bytes: of the chosen context; read_bytes: what its next token reads.
    """

    kind: str
    layers: int
    numbers_per_token: Fraction
    bytes_per_token: Fraction
    window_bytes: Fraction
    state_bytes: Fraction
    held_bytes: Fraction
    read_bytes: Fraction


def by_kind(model: Model, storage: Storage, context: int, ranks: int = 1) -> list[OfKind]:
    """The layers of a model, those that keep the same together, in the order of the first."""
    return [_of_kind(layer, n, storage, context, ranks) for layer, n in model.groups.items()]


def _of_kind(layer: Layer, n: int, storage: Storage, context: int, ranks: int) -> OfKind:
    def bounded(*growths: str) -> Fraction:
        parts = [part for part in _stored(layer) if part.growth in growths]
        rows = ((part, part.most_rows(part.length)) for part in parts)
        return n * _bytes(layer, storage, ranks, rows)

    return OfKind(
        kind=layer.kind,
        layers=n,
        numbers_per_token=n * numbers_per_token(layer),
        bytes_per_token=n * bytes_per_token(layer, storage, ranks),
        window_bytes=bounded("window", "buffer"),
        state_bytes=bounded("once"),
        held_bytes=n * held_bytes(layer, storage, context, ranks),
        read_bytes=n * read_bytes(layer, storage, context, ranks),
    )
