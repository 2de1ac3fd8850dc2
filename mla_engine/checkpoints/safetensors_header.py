"""The header before the tensors of a safetensors file, and the names of such files.

8 bytes of length (little-endian) stand before it. Needs no torch.
"""

from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.files import Files, Span
from mla_engine.checkpoints.other_kinds import check_kind

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
MOST_INDEX_BYTES = 40_000_000  # DeepSeek-V3's has 9 million, Kimi-K2-Thinking's 24
MOST_HEADER_BYTES = 25_000_000  # all 92,000 tensors of DeepSeek-V3 in one file would take 11 MB
LENGTH_BYTES = 8


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
