"""The safetensors format: 8 bytes of length (little-endian), a JSON header, then the tensors.

The safetensors library wants the whole file, and the Hub's client takes a header at its word. Here
a header is read on its own, and nothing in it is believed before it is checked against the file's
size.
"""

import sys
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import torch

from kvcount.files.config_json import parse_json
from kvcount.files.errors import CheckpointError
from kvcount.files.safetensors_header import LENGTH_BYTES

MOST_TENSORS = 400_000  # of one checkpoint; Kimi-K2-Thinking has 208,000
FULL = ("F64", "F32", "BF16", "F16")  # dtypes whose numbers are the weights themselves
MOST_SIZE, MOST_AXES = 2**63, 64
DTYPES = {
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "F32": torch.float32,
    "F64": torch.float64,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "F8_E8M0": torch.float8_e8m0fnu,
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "U16": torch.uint16,
    "I16": torch.int16,
    "U32": torch.uint32,
    "I32": torch.int32,
    "U64": torch.uint64,
    "I64": torch.int64,
}


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor in bytes `start` to `stop` of `file`, counted from the file's beginning."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    start: int
    stop: int

    @property
    def n_bytes(self) -> int:
        """Its size on disk."""
        return self.stop - self.start


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_SIZE


def _entry(name: str, row: Any, file: str, data_start: int, size: int) -> TensorEntry:
    if not isinstance(row, dict) or not {"dtype", "shape", "data_offsets"} <= row.keys():
        raise CheckpointError("entry_lacks", where=_where(name, file))
    dtype, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise CheckpointError(
            "entry_dtype", where=_where(name, file), dtype=dtype, known=", ".join(DTYPES)
        )
    if not (isinstance(shape, list) and len(shape) <= MOST_AXES and all(map(_is_size, shape))):
        raise CheckpointError("entry_shape", where=_where(name, file), shape=shape)
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise CheckpointError("entry_offsets", where=_where(name, file), offsets=offsets)
    start, stop = (data_start + offset for offset in offsets)
    if not start <= stop <= size:
        raise CheckpointError(
            "entry_bytes", where=_where(name, file), start=start, stop=stop, size=size
        )
    needed = prod(shape) * DTYPES[dtype].itemsize
    if needed != stop - start:
        said = {"shape": shape, "dtype": dtype, "needed": needed, "given": stop - start}
        raise CheckpointError("entry_length", where=_where(name, file), **said)
    if not needed and prod(max(size, 1) for size in shape) >= MOST_SIZE:
        raise CheckpointError(
            "entry_shape", where=_where(name, file), shape=shape
        )  # empty, but torch counts the other axes
    return TensorEntry(name, sys.intern(dtype), tuple(shape), file, start, stop)


def _where(name: str, file: str) -> str:
    return f"{file}: tensor {name!r:.120}"


def parse_header(header: bytes, file: str, size: int) -> dict[str, TensorEntry]:
    """Return the tensors that a header names, checked against the file's `size` in bytes.

    Raises:
        CheckpointError: no JSON object, a doubled key, an unknown dtype, offsets that leave the
            file, overlap, or contradict shape and dtype.
    """
    return header_and_metadata(header, file, size)[0]


def header_and_metadata(
    header: bytes, file: str, size: int
) -> tuple[dict[str, TensorEntry], dict[str, Any]]:
    """Return the tensors as `parse_header`, and the header's metadata."""
    rows = parse_json(header, f"{file} (header)")
    metadata = rows.pop("__metadata__", None)
    check_count(len(rows), file)
    data_start = LENGTH_BYTES + len(header)
    entries = {name: _entry(name, row, file, data_start, size) for name, row in rows.items()}
    in_order = sorted(entries.values(), key=lambda entry: (entry.start, entry.stop))
    for before, after in pairwise(in_order):
        if before.stop > after.start:
            raise CheckpointError("overlap", file=file, before=before.name, after=after.name)
    return entries, metadata if isinstance(metadata, dict) else {}


def check_count(n_tensors: int, file: str) -> None:
    """Raise CheckpointError if that is more tensors than any model has."""
    if n_tensors > MOST_TENSORS:
        raise CheckpointError("many_tensors", file=file, given=n_tensors, most=MOST_TENSORS)


def as_tensor(data: bytearray, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Return the bytes as a tensor of the stored dtype; they are not copied."""
    if not data:
        return torch.empty(shape, dtype=DTYPES[dtype])
    return torch.frombuffer(data, dtype=DTYPES[dtype]).reshape(shape)
