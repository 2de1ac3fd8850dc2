"""The safetensors format: 8 bytes of length (little-endian), a JSON header, then the tensors.

Parsed here rather than by the safetensors library because only a file's first bytes are at hand.
Nothing in a header is believed before it is checked against the file's size.
"""

import json
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import torch

from mla_engine.checkpoints.errors import CheckpointError

MOST_HEADER_BYTES = 100_000_000  # the safetensors library's own limit
LENGTH_BYTES = 8
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


@dataclass(frozen=True)
class TensorEntry:
    """Where a tensor lies: bytes `start` to `stop` of `file`, counted from the file's beginning."""

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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in names if keys.count(key) > 1)
        raise CheckpointError(f"the key {twice!r:.120} stands twice in one JSON object")
    return names


def parse_json(text: bytes, file: str) -> dict[str, Any]:
    """The JSON object in `text`; CheckpointError if it is none or names a key twice."""
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file} is not readable JSON: {error!s:.120}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{file} holds a JSON {type(value).__name__}, not an object")
    return value


def header_bytes(prefix: bytes, file: str, size: int) -> int:
    """Length of the header that follows a file's first 8 bytes.

    Raises:
        CheckpointError: the file is shorter than that, or the length is absurd.
    """
    if len(prefix) < LENGTH_BYTES or size < LENGTH_BYTES:
        raise CheckpointError(f"{file} ({size} bytes) is too short for a safetensors file")
    length = int.from_bytes(prefix[:LENGTH_BYTES], "little")
    most = min(MOST_HEADER_BYTES, size - LENGTH_BYTES)
    if length > most:
        raise CheckpointError(
            f"{file}: a header of {length:,} bytes is more than the {most:,} that can be there; "
            "this is no safetensors file, or it is damaged"
        )
    return length


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_SIZE


def _entry(name: str, row: Any, file: str, data_start: int, size: int) -> TensorEntry:
    where = f"{file}: tensor {name!r:.120}"
    if not isinstance(row, dict) or not {"dtype", "shape", "data_offsets"} <= row.keys():
        raise CheckpointError(f"{where} lacks dtype, shape or data_offsets")
    dtype, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        known = ", ".join(DTYPES)
        raise CheckpointError(f"{where} has the dtype {dtype!r:.40}; known are {known}")
    if not (isinstance(shape, list) and len(shape) <= MOST_AXES and all(map(_is_size, shape))):
        raise CheckpointError(f"{where} has the shape {shape!r:.80}, not a list of whole numbers")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise CheckpointError(f"{where} has the data_offsets {offsets!r:.80}, not two byte counts")
    start, stop = (data_start + offset for offset in offsets)
    if not start <= stop <= size:
        raise CheckpointError(f"{where} lies at bytes {start}-{stop} of a file of {size}")
    needed = prod(shape) * DTYPES[dtype].itemsize
    if needed != stop - start:
        raise CheckpointError(
            f"{where} of shape {shape!s:.80} and dtype {dtype} needs {needed} bytes, "
            f"the header gives it {stop - start}"
        )
    return TensorEntry(name, dtype, tuple(shape), file, start, stop)


def parse_header(header: bytes, file: str, size: int) -> dict[str, TensorEntry]:
    """The tensors that a header names, checked against the file's `size` in bytes.

    Raises:
        CheckpointError: no JSON object, a doubled key, an unknown dtype, offsets that leave the
            file, overlap, or contradict shape and dtype.
    """
    rows = parse_json(header, f"{file} (header)")
    rows.pop("__metadata__", None)
    data_start = LENGTH_BYTES + len(header)
    entries = {name: _entry(name, row, file, data_start, size) for name, row in rows.items()}
    in_order = sorted(entries.values(), key=lambda entry: (entry.start, entry.stop))
    for before, after in pairwise(in_order):
        if before.stop > after.start:
            raise CheckpointError(
                f"{file}: the bytes of {before.name!r:.120} and {after.name!r:.120} overlap"
            )
    return entries


def as_tensor(data: bytearray, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    """The bytes as a tensor of the stored dtype; they are not copied."""
    if not data:
        return torch.empty(shape, dtype=DTYPES[dtype])
    return torch.frombuffer(data, dtype=DTYPES[dtype]).reshape(shape)
