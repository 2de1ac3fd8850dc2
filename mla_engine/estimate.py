"""The memory that a call holds at its peak: measured on the meta device, then remembered.

A call is known by its layer, its formulas and a recipe for each argument: (what makes it again
without data, *hashable parts). A step of decoding finds its cache longer every time. Its formulas
are the same whatever the length, so that what is alive after each of their operations grows by
a fixed number of bytes with each token held: two lengths tell that of all.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
from torch import Tensor, nn

from mla_engine import budget
from mla_engine.cache import Cache, Storage

SHORT = 2  # tokens held; with fewer an axis has size 1, and torch copies less
LONGER = SHORT + 1


def peak_bytes(layer: nn.Module, formulas: Callable, args: Sequence[object]) -> int:
    """Return the bytes that formulas(layer, *args) makes and holds at once, with its positions."""
    call = (type(layer), layer.config, layer.heads, layer.dtype, formulas, *map(_recipe, args))
    cache = next((one for one in args if isinstance(one, Cache)), None)
    positions = sum(p.nbytes for p in args if isinstance(p, Tensor) and p.dtype == torch.int64)
    if cache is None or not _grows_evenly(cache, new=args[0].shape[1]):
        return positions + _peak(call, None if cache is None or cache.fixed else cache.length)
    return positions + max(fixed + each * cache.length for fixed, each in _moments(call))


def _grows_evenly(cache: Cache, new: int) -> bool:
    """Return True if the lines hold: not where an axis has size 1 or a reserve is just filled."""
    if not cache.grows_evenly:
        return False
    room = _room(cache)
    most = torch.inf if room is None else room
    return not cache.fixed and cache.length >= SHORT and max(cache.length, LONGER) + new < most


def _room(cache: Cache) -> int | None:
    """Return the number of allocated rows; None where there are as many as tokens."""
    rows = next(iter(cache.buffers.values())).shape[1]
    return rows if cache.reserved or rows != cache.length else None


def _recipe(value: object) -> object:
    if isinstance(value, Tensor):
        return _blank, value.shape, value.stride(), value.dtype
    if isinstance(value, Cache) and value.fixed:
        rows = tuple((n, b.shape, b.dtype) for n, b in value.buffers.items())
        return _fixed, type(value), value.config, rows
    if isinstance(value, Cache) and not value.grows_evenly:
        return _zeros, type(value), value.config, value.batch, value.dtype, value.length
    if isinstance(value, Cache):
        rows = tuple((n, b.shape[0], b.shape[2:], b.dtype) for n, b in value.buffers.items())
        return _held, type(value), value.config, value.reserved, value.copies, _room(value), rows
    if isinstance(value, slice):
        return slice, value.start, value.stop, value.step
    return (list, tuple(value)) if isinstance(value, list) else value


def _made(recipe: object, length: int | None) -> object:
    if type(recipe) is not tuple:
        return recipe
    make, *parts = recipe
    return make(*parts, length) if make is _held else make(*parts)


def _blank(shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return a tensor without its data; positions stay numbers, for angles are made from them."""
    if not dtype.is_floating_point:
        return torch.zeros(shape, dtype=dtype)
    return torch.empty_strided(shape, stride, dtype=dtype, device="meta")


def _fixed(
    kind: type[Cache], config: object, rows: tuple[tuple[str, torch.Size, torch.dtype], ...]
) -> Cache:
    """Return a cache without its data, as large for any number of tokens."""
    made = {name: torch.empty(shape, dtype=dtype, device="meta") for name, shape, dtype in rows}
    return kind(config, 0, False, Storage(made))


def _held(
    kind: type[Cache],
    config: object,
    reserved: bool,
    copies: bool,
    room: int | None,
    rows: tuple[tuple[str, int, torch.Size, torch.dtype], ...],
    length: int,
) -> Cache:
    """Return a cache without its data, of so many tokens."""
    buffers = {
        name: torch.empty(batch, length if room is None else room, *row, dtype=dtype, device="meta")
        for name, batch, row, dtype in rows
    }
    return kind(config, length, reserved, Storage(buffers, -1 if copies else length))


def _zeros(kind: type[Cache], config: object, batch: int, dtype: torch.dtype, length: int) -> Cache:
    """Return a cache of so many tokens without data; it knows itself what it keeps of them."""
    return kind.empty(config, batch, dtype, "meta").with_zeros(length)


@lru_cache(maxsize=32)
def _without_data(layer_type: type[nn.Module], *, dtype: torch.dtype, **of: object) -> nn.Module:
    """Return the layer on the meta device: only its shapes."""
    return layer_type(**of, dtype=dtype, device="meta")


def _course(call: tuple, length: int | None) -> list[int]:
    """Return the bytes alive after each allocation of the call, its cache of so many tokens."""
    layer_type, config, heads, dtype, formulas, *recipes = call
    twin = _without_data(layer_type, config=config, heads=heads, dtype=dtype)
    args = [_made(recipe, length) for recipe in recipes]
    return budget.course(lambda: formulas(twin, *args))


@lru_cache(maxsize=1024)
def _peak(call: tuple, length: int | None) -> int:
    return max(_course(call, length), default=0)


@lru_cache(maxsize=256)
def _moments(call: tuple) -> list[tuple[int, int]]:
    """Return (bytes, bytes per token held) after each allocation that no other exceeds."""
    courses = zip(_course(call, SHORT), _course(call, LONGER), strict=True)
    found = {(short - SHORT * (longer - short), longer - short) for short, longer in courses}
    return [
        (fixed, each)
        for fixed, each in found
        if not any(a >= fixed and b >= each and (a, b) != (fixed, each) for a, b in found)
    ]
