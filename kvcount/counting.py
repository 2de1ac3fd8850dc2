"""Bytes of a cache: of a layer, of all layers of a kind, and of each of the GPUs that share it.

One formula for all: rows x (numbers x bits + scales) / 8, summed over the parts of the layers.
Stored and read are two numbers: an indexer lets attention read few of the rows that are stored,
and a layer that shares another's cache reads what it does not store.

Under tensor parallelism each GPU keeps some KV heads of every sequence, down to one, then copies;
a latent serves all heads and is copied to each. Decode context parallelism deals the rows of tokens
to the GPUs that have copies. Under data parallelism each has whole sequences.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from kvcount import checks, context_parallel, sharing
from kvcount.dtypes import Storage
from kvcount.parts import Layer, Model, Part


def number(value: Fraction | int) -> int | float:
    """Return a whole number as an int, any other as a float."""
    return int(value) if Fraction(value).denominator == 1 else float(value)


def numbers_per_token(layer: Layer) -> Fraction:
    """Return the numbers that each further token adds for good."""
    return sum((part.numbers * part.rows_per_token for part in _stored(layer)), Fraction(0))


def bytes_per_token(
    layer: Layer, storage: Storage, ranks: int = 1, context_ranks: int = 1
) -> Fraction:
    """Return their bytes on the fullest of `ranks` GPUs that split the heads.

    Args:
        layer: whose.
        storage: how its parts are stored.
        ranks: GPUs that split the heads.
        context_ranks: of these, so many have rows of tokens dealt to them in turn; in the mean.
    """
    return sum(
        (
            storage.row_bytes(layer.kind, part, ranks) * part.rows_per_token / context_ranks
            for part in _stored(layer)
        ),
        Fraction(0),
    )


def held_bytes(
    layer: Layer, storage: Storage, context: int, ranks: int = 1, context_ranks: int = 1
) -> Fraction:
    """Return the bytes that a sequence of `context` tokens takes, windows and states included."""
    rows = ((part, part.rows(context)) for part in _stored(layer))
    return _bytes(layer, storage, rows, ranks, context_ranks)


def most_bytes(
    layer: Layer, storage: Storage, context: int, ranks: int = 1, context_ranks: int = 1
) -> Fraction:
    """Return the bytes that no sequence of up to `context` tokens exceeds."""
    rows = ((part, part.most_rows(context)) for part in _stored(layer))
    return _bytes(layer, storage, rows, ranks, context_ranks)


def read_bytes(
    layer: Layer, storage: Storage, context: int, ranks: int = 1, context_ranks: int = 1
) -> Fraction:
    """Return the bytes of the cache that the token after `context` others reads.

    Where it reads few of the rows that are dealt out, one GPU reads no less than its share.
    """
    rows = ((part, part.rows_read(context)) for part in layer.parts)
    return _bytes(layer, storage, rows, ranks, context_ranks)


def _stored(layer: Layer) -> tuple[Part, ...]:
    return tuple(part for part in layer.parts if part.stored)


def _bytes(
    layer: Layer,
    storage: Storage,
    rows: Iterable[tuple[Part, int]],
    ranks: int,
    context_ranks: int,
) -> Fraction:
    return sum(
        (
            part.rank_rows(n_rows, context_ranks) * storage.row_bytes(layer.kind, part, ranks)
            for part, n_rows in rows
        ),
        Fraction(0),
    )


@dataclass(frozen=True, kw_only=True)
class OfKind:
    """The sum of layers that keep the same, for one sequence.

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


def by_kind(model: Model, storage: Storage, context: int) -> list[OfKind]:
    """Return the layers of a model, those that keep the same together, in the first's order."""
    return [_of_kind(layer, n, storage, context) for layer, n in model.groups.items()]


def _of_kind(layer: Layer, n: int, storage: Storage, context: int) -> OfKind:
    def bounded(*growths: str) -> Fraction:
        parts = [part for part in _stored(layer) if part.growth in growths]
        rows = ((part, part.most_rows(part.length)) for part in parts)
        return n * _bytes(layer, storage, rows, 1, 1)

    return OfKind(
        kind=layer.kind,
        layers=n,
        numbers_per_token=n * numbers_per_token(layer),
        bytes_per_token=n * bytes_per_token(layer, storage),
        window_bytes=bounded("window", "buffer"),
        state_bytes=bounded("once"),
        held_bytes=n * held_bytes(layer, storage, context),
        read_bytes=n * read_bytes(layer, storage, context),
    )


@dataclass(frozen=True, kw_only=True)
class Placing:
    """A cache on so many GPUs.

    Args:
        model: whose cache.
        storage: the types of its parts.
        gpus: all of them.
        data: groups that have different sequences; the GPUs of a group split the heads.
        batch: sequences.
        context_ranks: GPUs of a group among which the tokens of a sequence are dealt out (DCP).

    Raises:
        RefusedError: a number that does not fit, named with its value.
    """

    model: Model
    storage: Storage
    gpus: int = 1
    data: int = 1
    batch: int = 1
    context_ranks: int = 1

    def __post_init__(self) -> None:
        checks.whole("gpus", self.gpus, most=2**16)
        checks.whole("data", self.data, most=2**16)
        checks.whole("batch", self.batch, most=sharing.MOST)
        checks.multiple("gpus", self.gpus, "data", self.data)
        checks.whole("context_ranks", self.context_ranks, most=2**16)
        context_parallel.refuse(self.model, self.ranks, self.context_ranks)

    @property
    def ranks(self) -> int:
        """GPUs that split the heads of a sequence."""
        return self.gpus // self.data

    @property
    def sequences(self) -> int:
        """The sequences of the fullest GPU."""
        return sharing.sequences_each(self.batch, self.data)

    def token_bytes(self) -> Fraction:
        """Return what each further token of each sequence adds on the fullest GPU."""
        return self._over_layers(bytes_per_token)

    def held_bytes(self, context: int) -> Fraction:
        """Return what the fullest GPU holds of sequences of `context` tokens."""
        return self._over_layers(held_bytes, context)

    def read_bytes(self, context: int) -> Fraction:
        """Return what the fullest GPU reads for the tokens after `context` others."""
        return self._over_layers(read_bytes, context)

    def mean_read_bytes(self, context: int) -> Fraction:
        """Return what the GPUs of a group read in the mean for one sequence's next token."""
        one = replace(self, batch=1, context_ranks=1)
        if self.context_ranks == 1:
            return one.read_bytes(context)
        grown = Fraction(0)
        for layer, n in self.model.groups.items():
            own = [part for part in layer.parts if part.growth == "grows"]
            rows = ((part, part.rows_read(context)) for part in own)
            grown += n * _bytes(layer, self.storage, rows, self.ranks, 1)
        return one.read_bytes(context) - grown + grown / self.context_ranks

    def most_bytes(self, context: int) -> Fraction:
        """Return what it holds at most of sequences of up to `context` tokens."""
        return self._over_layers(most_bytes, context)

    def _over_layers(self, count: Callable[..., Fraction], *context: int) -> Fraction:
        """Return the sequences of the fullest GPU, over all layers."""
        of_layers = (
            n * count(layer, self.storage, *context, self.ranks, self.context_ranks)
            for layer, n in self.model.groups.items()
        )
        return self.sequences * sum(of_layers, Fraction(0))

    def rank_parameters(self, parameters: float) -> Fraction:
        """Return how many parameters each GPU keeps, attention's among them."""
        attention = Fraction(self.model.attention_parameters)
        return sharing.parameters_each(Fraction(parameters), attention, self.gpus, self.data)

    def longest_context(self, gpu_bytes: float, weight_bytes: float = 0) -> int | None:
        """Tokens to which each sequence can grow on GPUs of this memory, None if without bound.

        Args:
            gpu_bytes: memory of one GPU.
            weight_bytes: of the weights that it keeps.
        """
        room = Fraction(gpu_bytes) - Fraction(weight_bytes)
        return sharing.longest_context(self.most_bytes, room)
