"""Count the bytes that a value holds, for the budget of the cache."""

import sys
from collections.abc import Iterable, Mapping
from functools import partial, singledispatch
from types import FunctionType, MethodType, ModuleType

import numpy as np
import torch

FLOOR = 1024  # bytes of any value: its key, its place in the cache


def footprint(value: object) -> int:
    """Return the bytes of all that a value reaches; memory that several share counts once."""
    counted: dict[int, int] = {}
    met, left = {id(value): value}, [value]
    while left:
        size, shared, parts = _of(left.pop())
        counted[shared] = size
        new = {id(part): part for part in parts if id(part) not in met}
        met |= new  # held until the end, so that no id comes twice
        left += new.values()
    return FLOOR + sum(counted.values())


Found = tuple[int, int, Iterable[object]]  # bytes, whose they are, what else is reached


@singledispatch
def _of(value: object) -> Found:
    if hasattr(value, "memory_usage"):  # a table of pandas, which need not be imported yet
        return int(np.sum(value.memory_usage(deep=True))), id(value), ()
    held = vars(value).values() if hasattr(value, "__dict__") else ()
    return sys.getsizeof(value), id(value), tuple(held)


@_of.register(type)
@_of.register(ModuleType)
@_of.register(torch.dtype)
def _nothing(value: object) -> Found:
    """Count nothing for what is there anyway, whoever points at it."""
    return 0, id(value), ()


@_of.register
def _tensor(value: torch.Tensor) -> Found:
    if value.device.type == "meta":
        return _nothing(value)
    storage = value.untyped_storage()
    return storage.nbytes(), storage.data_ptr(), ()


@_of.register
def _array(value: np.ndarray) -> Found:
    if isinstance(value.base, np.ndarray | torch.Tensor):  # a view holds all that it is cut from
        return _of(value.base)
    inside = value.ravel().tolist() if value.dtype == object else ()
    return value.nbytes, value.ctypes.data, inside


@_of.register
def _mapping(value: Mapping) -> Found:
    return sys.getsizeof(value), id(value), (*value.keys(), *value.values())


@_of.register(tuple)
@_of.register(list)
@_of.register(set)
@_of.register(frozenset)
def _several(value: Iterable) -> Found:
    return sys.getsizeof(value), id(value), tuple(value)


@_of.register
def _partial(value: partial) -> Found:
    return sys.getsizeof(value), id(value), (value.func, *value.args, *value.keywords.values())


@_of.register
def _method(value: MethodType) -> Found:
    return sys.getsizeof(value), id(value), (value.__func__, value.__self__)


@_of.register
def _function(value: FunctionType) -> Found:
    """Count what a closure names; the code itself is there anyway."""
    cells = value.__closure__ or ()
    filled = (cell.cell_contents for cell in cells if _is_filled(cell))
    return 0, id(value), (*filled, *(value.__defaults__ or ()))


def _is_filled(cell: object) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
