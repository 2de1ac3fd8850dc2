"""The header before the tensors of a safetensors file, and the names of such files.

8 bytes of length (little-endian) stand before it.
"""

import json
from collections.abc import Mapping
from math import prod

from kvcount.files.errors import CheckpointError
from kvcount.files.folder import Files, Span
from kvcount.files.other_kinds import check_kind

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
MOST_INDEX_BYTES = 40_000_000  # DeepSeek-V3's has 9 million, Kimi-K2-Thinking's 24
MOST_HEADER_BYTES = 25_000_000  # all 92,000 tensors of DeepSeek-V3 in one file would take 11 MB
LENGTH_BYTES = 8
ITEM_BYTES = {"F32": 4, "F16": 2, "BF16": 2}  # of what is written here


def read_header(files: Files, file: str, size: int) -> bytearray:
    """Return the header of one of the files, of `size` bytes in all.

    Raises:
        CheckpointError: as `header_bytes`, or a file that cannot be read.
    """
    first = Span(file, 0, min(size, LENGTH_BYTES))
    [prefix] = files.read([first], lambda _: None)
    length = header_bytes(prefix, file, size)
    [header] = files.read([Span(file, first.stop, first.stop + length)], lambda _: None)
    return header


def header_bytes(prefix: bytes, file: str, size: int, most: int = MOST_HEADER_BYTES) -> int:
    """Return the length of the header that follows a file's first 8 bytes.

    Raises:
        CheckpointError: a file of another kind, one shorter than that, or an absurd length.
    """
    check_kind(prefix, file)
    if len(prefix) < LENGTH_BYTES or size < LENGTH_BYTES:
        raise CheckpointError("short_file", file=file, size=size)
    length = int.from_bytes(prefix[:LENGTH_BYTES], "little")
    most = min(most, size - LENGTH_BYTES)
    if length > most:
        raise CheckpointError("long_header", file=file, length=length, most=most)
    return length


def header_of(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> tuple[bytes, list[int]]:
    """Return what stands before tensors laid end to end, where each begins, and last the end.

    Args:
        tensors: the type, one of ITEM_BYTES, and the shape of each by its name.
    """
    rows, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        start, at = at, at + prod(shape) * ITEM_BYTES[dtype]
        rows[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, at]}
    text = json.dumps({"__metadata__": {"format": "pt"}} | rows).encode()
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(LENGTH_BYTES, "little") + text
    starts = [row["data_offsets"][0] for row in rows.values()]
    return head, [len(head) + start for start in (*starts, at)]
