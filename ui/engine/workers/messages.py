"""Messages between the server and a worker: a line of JSON, and the bytes of tensors behind it.

Numbers, texts, tensors, refusals and the engine's own few types can come out of what a worker
sends, whatever it sends, and nothing else.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from math import prod
from typing import Any, BinaryIO

import torch

from kvcount.files.stored_weights import Stored
from kvcount.refusals import Phrase, RefusedError, table
from mla_engine import mechanisms, rope
from mla_engine.budget import MemoryBudgetError
from mla_engine.checkpoints import CheckpointError, HiddenBytes, HiddenStates, Plan

MOST_LINE_BYTES = 2**20  # read in a few milliseconds, in which the server does nothing else
MOST_AXES = 8
DTYPES = {str(kind): kind for kind in (torch.float64, torch.float32, torch.bfloat16, torch.float16)}
REFUSALS = {kind.__name__: kind for kind in (RefusedError, CheckpointError, MemoryBudgetError)}
ROTATIONS = ("RopeConfig", "YarnConfig", "LinearScaling", "Llama3Scaling", "LongRopeScaling")
LONGEST_VALUE = 2_000  # characters of a refusal's value
Clean = Callable[[str], str]


class BrokenMessageError(Exception):
    """A message is none, or too large."""


def send(stream: BinaryIO, message: dict[str, Any], tensors: list[torch.Tensor] = ()) -> None:
    """Write a message; its tensors are those that `receive` gives back.

    Raises:
        BrokenMessageError: it is too large.
        OSError: nobody reads.
    """
    shapes = [[str(tensor.dtype), list(tensor.shape)] for tensor in tensors]
    line = json.dumps({**message, "tensors": shapes}).encode() + b"\n"
    if len(line) > MOST_LINE_BYTES:
        raise BrokenMessageError(len(line))
    stream.write(line)
    for tensor in tensors:
        stream.write(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
    stream.flush()


def receive(stream: BinaryIO, most_bytes: int) -> tuple[dict[str, Any], list[torch.Tensor]] | None:
    """Return the next message and its tensors, of at most so many bytes in all; None at the end.

    Raises:
        BrokenMessageError: it is no message, or too large.
    """
    if not (line := stream.readline(MOST_LINE_BYTES)):
        return None
    try:
        message = json.loads(line)
        wanted = [(DTYPES[dtype], _shape(shape)) for dtype, shape in message.pop("tensors")]
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
    if stream.readinto(data.numpy()) < len(data):
        raise BrokenMessageError("it ends early")
    return data.view(dtype).reshape(shape)


@cache
def _types() -> dict[str, type]:
    """The dataclasses that may cross, by their names."""
    types = (Plan, HiddenBytes, HiddenStates, Stored, *(getattr(rope, name) for name in ROTATIONS))
    return {kind.__name__: kind for kind in (*types, *(m.config_type for m in mechanisms.all()))}


def encoded(value: object, tensors: list[torch.Tensor]) -> object:
    """Return the value for JSON; its tensors go into the list and stand as their places in it.

    Raises:
        TypeError: a value of another type.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, tuple):
        return [encoded(part, tensors) for part in value]
    if isinstance(value, list):
        return {"list": [encoded(part, tensors) for part in value]}
    if isinstance(value, Mapping):
        pairs = [[encoded(part, tensors) for part in pair] for pair in value.items()]
        return {"dict": pairs}
    if is_dataclass(value) and _types().get(type(value).__name__) is type(value):
        held = {field.name: encoded(getattr(value, field.name), tensors) for field in fields(value)}
        return {"type": type(value).__name__, "fields": held}
    raise TypeError(f"a {type(value).__name__} does not cross")


def decoded(sent: Any, tensors: list[torch.Tensor]) -> object:
    """Return the value that `encoded` made this of.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: it made no such thing.
    """
    if isinstance(sent, list):
        return tuple(decoded(part, tensors) for part in sent)
    if not isinstance(sent, dict):
        return sent
    if "tensor" in sent:
        return tensors[sent["tensor"]]
    if "list" in sent:
        return [decoded(part, tensors) for part in sent["list"]]
    if "dict" in sent:
        return {decoded(key, tensors): decoded(part, tensors) for key, part in sent["dict"]}
    held = {name: decoded(part, tensors) for name, part in sent["fields"].items()}
    return _types()[sent["type"]](**held)


def encoded_refusal(error: RefusedError | Phrase, clean: Clean) -> dict[str, object]:
    """Return a refusal or a phrase for JSON; `clean` takes out what nobody should read."""
    values = {name: _encoded_value(value, clean) for name, value in error.values.items()}
    kind = next((k.__name__ for k in type(error).__mro__ if k.__name__ in REFUSALS), "Phrase")
    return {"refusal": kind, "code": error.code, "values": values}


def _encoded_value(value: object, clean: Clean) -> object:
    if isinstance(value, RefusedError | Phrase):
        return encoded_refusal(value, clean)
    if not isinstance(value, str):
        try:
            if len(repr(value)) <= LONGEST_VALUE:
                return encoded(value, [])
        except TypeError:
            pass
    return clean(str(value))[:LONGEST_VALUE]


def decoded_refusal(sent: dict[str, Any]) -> RefusedError | Phrase:
    """Return the refusal or phrase that `encoded_refusal` made this of; errors as `decoded`."""
    kind = (REFUSALS | {"Phrase": Phrase})[sent["refusal"]]
    if sent["code"] not in table()[kind.section]:
        raise LookupError(sent["code"])
    values = {
        name: decoded_refusal(value)
        if isinstance(value, dict) and "refusal" in value
        else decoded(value, [])
        for name, value in sent["values"].items()
    }
    return kind(sent["code"], **values)
