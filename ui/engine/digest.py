"""Return a few bytes that stand for a value: the key of what was drawn for the same arguments."""

import dataclasses
from collections.abc import Mapping
from hashlib import blake2b
from pickle import Pickler
from types import SimpleNamespace

import numpy as np
import torch


class _Values(Pickler):
    """Pickles arrays, mappings and dataclasses by only their values."""

    def reducer_override(self, value: object) -> object:
        """Return what pickle makes such a value of: a type and its arguments."""
        match value:
            case torch.Tensor():
                return self.reducer_override(value.numpy())
            case np.ndarray() if value.dtype.hasobject:
                return np.array, (value.tolist(), object)
            case np.ndarray():
                return np.ndarray, (value.shape, str(value.dtype), value.tobytes())
            case Mapping():
                return dict, (tuple(value.items()),)
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = dataclasses.fields(value)
                return type(value), tuple(getattr(value, field.name) for field in fields)
        return NotImplemented


def digest(value: object) -> bytes:
    """Return 16 bytes, the same for equal values; for others they are as good as never the same.

    Raises:
        PicklingError, AttributeError, TypeError: a value that cannot be pickled, such as a lambda.
    """
    made = blake2b(digest_size=16)
    pickler = _Values(SimpleNamespace(write=made.update), protocol=5)
    pickler.fast = True  # no part is written as a reference to an equal one before it
    pickler.dump(value)
    return made.digest()
