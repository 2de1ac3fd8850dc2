"""The beginning of a GGUF file: its metadata, and where each tensor lies.

All lengths are the file's own word, so none is believed before it is held against the file's size:
a list of a thousand million names is refused before the first. Numbers are little-endian.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.files.gguf.blocks import OTHERS, TYPES, Blocks
from kvcount.files.other_kinds import check_kind
from kvcount.lazy import LazyModule

np = LazyModule("numpy")

MAGIC, VERSIONS = b"GGUF", (2, 3)
MOST_BYTES = 48_000_000  # Llama 4's metadata has 14 million, with all its words
CHUNK = 2**20
MOST_AXES, MOST_ALIGNMENT = 4, 2**16
NUMBERS = dict(enumerate(("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<f4", "?"))) | {
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
TEXT, LIST = 8, 9
SHORTEST_TEXT, SHORTEST_TENSOR = 8, 32  # bytes
Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor in the file: rows first, `start` in bytes from the file's beginning."""

    name: str
    shape: tuple[int, ...]
    type: Blocks
    start: int

    @property
    def n_bytes(self) -> int:
        """Its size in the file."""
        return prod(self.shape) // self.type.numbers * self.type.n_bytes


@dataclass(frozen=True)
class Header:
    """A file's header: `metadata` by key, and its tensors by their names."""

    metadata: dict[str, Any]
    tensors: dict[str, Stored]


class _Beginning:
    """The beginning of a file, read on in parts as they are asked for."""

    def __init__(self, read: Read, file: str, size: int) -> None:
        self._read, self.file, self.size = read, file, size
        self._data, self.at = bytearray(), 0

    def take(self, n: int) -> bytes:
        """Return the next `n` bytes; CheckpointError where there cannot be so many."""
        stop = self.at + n
        self.check(n)
        if stop > MOST_BYTES:
            raise CheckpointError("gguf_long", file=self.file, most=MOST_BYTES)
        if stop > len(self._data):
            upto = min(max(stop, len(self._data) + CHUNK), self.size)
            self._data += self._read(len(self._data), upto)
        found, self.at = bytes(self._data[self.at : stop]), stop
        return found

    def check(self, n: int, n_bytes: int = 1) -> None:
        """Raise CheckpointError where no `n` things of so many bytes or more can follow."""
        if n * n_bytes > self.size - self.at:
            raise CheckpointError("gguf_cut", file=self.file, size=self.size)

    def count(self, n_bytes: int) -> int:
        """Return the next whole number: of things of so many bytes or more that follow."""
        self.check(n := self.whole(), n_bytes)
        return n

    def whole(self, kind: str = "Q") -> int:
        """Return the next whole number: Q of 8 bytes, I of 4."""
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0]

    def text(self) -> str:
        """Return the next text."""
        try:
            return self.take(self.whole()).decode()
        except UnicodeDecodeError as error:
            raise CheckpointError("gguf_text", file=self.file, at=self.at) from error

    def value(self, kind: int) -> Any:
        """Return the next value: a text, a list of texts, a number, or an array of numbers."""
        if kind == TEXT:
            return self.text()
        if kind != LIST:
            return self._numbers(kind, 1)[0].item()
        if (of := self.whole("I")) == TEXT:
            return [self.text() for _ in range(self.count(SHORTEST_TEXT))]
        return self._numbers(of, self.whole())

    def _numbers(self, kind: int, n: int) -> "np.ndarray":
        if kind not in NUMBERS:
            raise CheckpointError("gguf_kind", file=self.file, kind=kind, at=self.at)
        dtype = np.dtype(NUMBERS[kind])
        return np.frombuffer(self.take(n * dtype.itemsize), dtype)


def parse(read: Read, file: str, size: int) -> Header:
    """Return the header of a file of `size` bytes; `read(start, stop)` gives bytes of it.

    Raises:
        CheckpointError: no GGUF file, a version or a type that is not read, a file that is cut
            short, a name twice, tensors that overlap.
    """
    beginning = _Beginning(read, file, size)
    if not (first := read(0, min(size, 64))).startswith(MAGIC):
        check_kind(first, file)
        raise CheckpointError("no_gguf", file=file)
    beginning.take(len(MAGIC))
    if (version := beginning.whole("I")) not in VERSIONS:
        raise CheckpointError("gguf_version", file=file, version=version)
    n_tensors, n_values = beginning.count(SHORTEST_TENSOR), beginning.whole()
    metadata: dict[str, Any] = {}
    for _ in range(n_values):
        key = _new(beginning.text(), metadata, file)
        metadata[key] = beginning.value(beginning.whole("I"))
    rows: dict[str, tuple[tuple[int, ...], int, int]] = {}
    for _ in range(n_tensors):
        name = _new(beginning.text(), rows, file)
        if not 1 <= (axes := beginning.whole("I")) <= MOST_AXES:
            raise CheckpointError("gguf_axes", file=file, name=name, axes=axes, most=MOST_AXES)
        shape = tuple(beginning.whole() for _ in range(axes))[::-1]
        rows[name] = shape, beginning.whole("I"), beginning.whole()
    first = _aligned(beginning.at, metadata, file)
    tensors = {name: _stored(name, *row, first, file, size) for name, row in rows.items()}
    in_order = sorted(tensors.values(), key=lambda tensor: tensor.start)
    for before, after in pairwise(in_order):
        if before.start + before.n_bytes > after.start:
            raise CheckpointError("overlap", file=file, before=before.name, after=after.name)
    return Header(metadata, tensors)


def _new(name: str, known: dict[str, Any], file: str) -> str:
    if name in known:
        raise CheckpointError("gguf_twice", file=file, name=name)
    return name


def _aligned(at: int, metadata: dict[str, Any], file: str) -> int:
    """Return where the tensors begin."""
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or not 1 <= alignment <= MOST_ALIGNMENT:
        raise CheckpointError("gguf_value", file=file, key="general.alignment", value=alignment)
    return -(-at // alignment) * alignment


def _stored(
    name: str, shape: tuple[int, ...], kind: int, offset: int, first: int, file: str, size: int
) -> Stored:
    if kind not in TYPES:
        named, known = OTHERS.get(kind, kind), ", ".join(one.name for one in TYPES.values())
        raise CheckpointError("gguf_type", file=file, name=name, type=named, known=known)
    if 0 in shape or shape[-1] % TYPES[kind].numbers:
        raise CheckpointError(
            "gguf_shape", file=file, name=name, shape=list(shape), numbers=TYPES[kind].numbers
        )
    found = Stored(name, shape, TYPES[kind], first + offset)
    if found.start + found.n_bytes > size:
        stop = found.start + found.n_bytes
        raise CheckpointError("gguf_cut_tensor", file=file, name=name, stop=stop, size=size)
    return found
