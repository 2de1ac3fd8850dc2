"""What a call is made of, as a few bytes: the key of what was drawn for the same arguments."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial, singledispatch
from hashlib import blake2b
from types import FunctionType

import numpy as np
import torch

Feed = Callable[[bytes], None]


def digest(value: object) -> bytes:
    """Equal for equal values, as good as never for others; arrays count by all their numbers.

    Raises:
        TypeError: of a value whose parts it does not know.
    """
    made = blake2b(digest_size=16)
    _feed(value, made.update)
    return made.digest()


@singledispatch
def _feed(value: object, feed: Feed) -> None:
    if not dataclasses.is_dataclass(value):
        raise TypeError(f"no digest of a {type(value).__name__}")
    parts = (getattr(value, field.name) for field in dataclasses.fields(value))
    _feed((type(value).__qualname__, *parts), feed)


@_feed.register(str)
@_feed.register(bytes)
@_feed.register(int)
@_feed.register(float)
@_feed.register(range)
@_feed.register(type(None))
def _plain(value: object, feed: Feed) -> None:
    feed(f"{type(value).__name__}{value!r};".encode())


@_feed.register
def _array(value: np.ndarray, feed: Feed) -> None:
    if value.dtype.hasobject:
        _feed(value.tolist(), feed)
    feed(f"array{value.dtype}{value.shape};".encode())
    feed(np.ascontiguousarray(value).data.cast("B") if value.size else b"")


@_feed.register
def _number(value: np.generic, feed: Feed) -> None:
    _array(np.asarray(value), feed)


@_feed.register
def _tensor(value: torch.Tensor, feed: Feed) -> None:
    _array(value.numpy(), feed)


@_feed.register(tuple)
@_feed.register(list)
def _several(value: tuple | list, feed: Feed) -> None:
    feed(f"{len(value)}(".encode())
    for part in value:
        _feed(part, feed)


@_feed.register
def _mapping(value: Mapping, feed: Feed) -> None:
    _several([part for item in value.items() for part in item], feed)


@_feed.register
def _function(value: FunctionType, feed: Feed) -> None:
    feed(f"{value.__module__}.{value.__qualname__};".encode())


@_feed.register
def _call(value: partial, feed: Feed) -> None:
    _several([value.func, value.args, value.keywords], feed)
