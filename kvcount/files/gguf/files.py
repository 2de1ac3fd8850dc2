"""A GGUF file as the files of a folder: config.json, tokenizer.json and model.safetensors.

The last is nowhere: its header is made of the GGUF's, and a range of its bytes is decoded when it
is read. Rounded numbers become float32, others stay as they are stored.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import prod

from kvcount.files.errors import CheckpointError
from kvcount.files.folder import CONFIG, Files, Report, Span
from kvcount.files.gguf.header import Stored, parse
from kvcount.files.gguf.llama import FREQUENCIES, config_of, name_of, order
from kvcount.files.gguf.llama3 import scaling
from kvcount.files.gguf.vocabulary import tokenizer_json
from kvcount.files.safetensors_header import ITEM_BYTES, SINGLE, header_of
from kvcount.lazy import LazyModule

np = LazyModule("numpy")

TOKENIZER = "tokenizer.json"
AT_ONCE = 2**18  # numbers that are decoded together


class GgufFiles:
    """The model in one file among `files`, as `Files`; a refusal is a CheckpointError."""

    revision = None

    def __init__(self, files: Files, file: str) -> None:
        self._files, self._file, self.name = files, file, file
        self.header = parse(self._raw, file, files.size(file))
        self.config = config_of(self.header, file)
        if turned := self.header.tensors.get(FREQUENCIES):
            data = np.frombuffer(self._raw(turned.start, turned.start + turned.n_bytes), np.uint8)
            self.config |= scaling(turned.type.floats_of(data), self.config, file)
        self.tensors: dict[str, Stored] = {
            name_of(short, file): stored
            for short, stored in self.header.tensors.items()
            if short != FREQUENCIES
        }
        self._in_order = list(self.tensors.items())
        shapes = {name: (stored.type.dtype, stored.shape) for name, stored in self._in_order}
        self._head, places = header_of(shapes)
        *self._starts, self._size = places

    def names(self) -> tuple[str, ...]:
        """Return the names of the files that it stands for."""
        return CONFIG, SINGLE, TOKENIZER

    def small_file(self, name: str, most_bytes: int) -> bytes | None:
        """Return config.json or tokenizer.json, None for another; CheckpointError if too long."""
        made = {CONFIG: lambda: json.dumps(self.config).encode(), TOKENIZER: self.tokenizer}
        data = made[name]() if name in made else None
        if data is not None and len(data) > most_bytes:
            raise CheckpointError("too_large", name=name, size=len(data), most=most_bytes)
        return data

    def size(self, file: str) -> int:
        """Return the size of model.safetensors in bytes; CheckpointError for another file."""
        if file != SINGLE:
            raise CheckpointError("missing", file=file, where=self.name)
        return self._size

    def fetch(self, spans: Sequence[Span], report: Report) -> None:
        """Report that all is here."""
        report(sum(span.n_bytes for span in spans))

    def read(self, spans: Sequence[Span], report: Report) -> list[bytearray]:
        """Return the bytes of each span of model.safetensors; `report` gets those of each part."""
        return [self._span(span, report) for span in spans]

    def _span(self, span: Span, report: Report) -> bytearray:
        if span.stop <= len(self._head):
            report(span.n_bytes)
            return bytearray(self._head[span.start : span.stop])
        place = bisect_right(self._starts, span.start) - 1
        name, stored = self._in_order[place]
        row_bytes = stored.shape[-1] * ITEM_BYTES[stored.type.dtype]
        start, stop = (at - self._starts[place] for at in (span.start, span.stop))
        first, last = start // row_bytes, -(-stop // row_bytes)
        found = bytearray()
        for rows in self._pieces(name, stored, first, last):
            found += stored.type.numbers_of(rows).data
            report(len(rows) * row_bytes)
        return found[start - first * row_bytes : stop - first * row_bytes]

    def floats(self, name: str) -> "Iterator[np.ndarray]":
        """Yield a tensor's numbers by and by, float32, in the order of its rows."""
        stored = self.tensors[name]
        for rows in self._pieces(name, stored, 0, prod(stored.shape[:-1])):
            yield stored.type.floats_of(rows)

    def _pieces(self, name: str, stored: Stored, first: int, last: int) -> "Iterator[np.ndarray]":
        rows, step = self._rows(name, stored, first, last), max(AT_ONCE // stored.shape[-1], 1)
        return (rows[at : at + step] for at in range(0, len(rows), step))

    def _rows(self, name: str, stored: Stored, first: int, last: int) -> "np.ndarray":
        """Return rows of a tensor as they are stored, uint8 [last - first, bytes]."""
        n_rows = prod(stored.shape[:-1])
        row_bytes, way = stored.n_bytes // n_rows, order(name, n_rows, self.config, self._file)
        start, stop = (first, last) if way is None else (0, n_rows)
        data = self._raw(stored.start + start * row_bytes, stored.start + stop * row_bytes)
        rows = np.frombuffer(data, np.uint8).reshape(-1, row_bytes)
        return rows if way is None else rows[way[first:last]]

    def _raw(self, start: int, stop: int) -> bytearray:
        return self._files.read([Span(self._file, start, stop)], lambda _: None)[0]

    def tokenizer(self) -> bytes | None:
        """Return tokenizer.json; None where the file has none, errors as `tokenizer_json`."""
        return tokenizer_json(self.header.metadata, self._file)
