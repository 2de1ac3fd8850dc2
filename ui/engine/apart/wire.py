"""Messages between the server and a worker: a length, JSON, and the bytes of tensors behind it."""

import json
from math import prod
from typing import Any, BinaryIO

import torch

LENGTH_BYTES = 8
MOST_JSON_BYTES = 2**20  # read in a few milliseconds, in which the server does nothing else
MOST_AXES = 8
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
_BY_NAME = {str(dtype): dtype for dtype in DTYPES}


class BrokenMessageError(Exception):
    """What came is no message, or one that is too large."""


def send(stream: BinaryIO, message: dict[str, Any], tensors: list[torch.Tensor] = ()) -> None:
    """Write a message; its tensors are those that `receive` gives back.

    Raises:
        BrokenMessageError: it is too large.
        OSError: nobody reads.
    """
    shapes = [[str(tensor.dtype), list(tensor.shape)] for tensor in tensors]
    text = json.dumps({**message, "tensors": shapes}).encode()
    if len(text) > MOST_JSON_BYTES:
        raise BrokenMessageError(len(text))
    _write(stream, memoryview(len(text).to_bytes(LENGTH_BYTES, "little") + text))
    for tensor in tensors:
        flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
        _write(stream, memoryview(flat.numpy()))
    stream.flush()


def receive(stream: BinaryIO, most_bytes: int) -> tuple[dict[str, Any], list[torch.Tensor]] | None:
    """The next message and its tensors, of at most so many bytes in all; None at the end.

    Raises:
        BrokenMessageError: it is no message, or too large.
    """
    if not (first := stream.read(1)):
        return None
    length = int.from_bytes(first + _read(stream, LENGTH_BYTES - 1), "little")
    if length > MOST_JSON_BYTES:
        raise BrokenMessageError(length)
    text = _read(stream, length)
    try:
        message = json.loads(text)
        wanted = [(_BY_NAME[dtype], _shape(shape)) for dtype, shape in message.pop("tensors")]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise BrokenMessageError(type(error).__name__) from error
    if sum(prod(shape) * dtype.itemsize for dtype, shape in wanted) > most_bytes:
        raise BrokenMessageError(wanted)
    return message, [_tensor(stream, dtype, shape) for dtype, shape in wanted]


def _shape(shape: Any) -> tuple[int, ...]:
    if len(shape) > MOST_AXES or not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        raise ValueError(shape)
    return tuple(shape)


def _tensor(stream: BinaryIO, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    data = torch.empty(prod(shape) * dtype.itemsize, dtype=torch.uint8)
    _fill(stream, memoryview(data.numpy()))
    return data.view(dtype).reshape(shape)


def _read(stream: BinaryIO, n_bytes: int) -> bytearray:
    data = bytearray(n_bytes)
    _fill(stream, memoryview(data))
    return data


def _write(stream: BinaryIO, rest: memoryview) -> None:
    while rest:
        rest = rest[stream.write(rest) :]


def _fill(stream: BinaryIO, rest: memoryview) -> None:
    while rest:
        if not (n := stream.readinto(rest)):
            raise BrokenMessageError("it ends early")
        rest = rest[n:]
