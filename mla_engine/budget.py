"""The memory budget: a call that would not fit is refused before anything is allocated.

The estimate is the call itself, run on torch's meta device, which knows shapes and holds no data:
it cannot drift away from the code; `estimate` remembers it. MLA_MEMORY_BUDGET_GIB sets the budget
(default 1 GiB).
"""

import math
import os
import weakref
from collections.abc import Callable, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_iter

from kvcount.refusals import RefusedError

GIB = 2**30
VARIABLE = "MLA_MEMORY_BUDGET_GIB"


class MemoryBudgetError(RefusedError):
    """A call needs more memory than the budget grants: `needed_bytes` against `limit_bytes`."""

    @property
    def needed_bytes(self) -> int:
        """The bytes that the call would take."""
        return self.values["needed_bytes"]

    @property
    def limit_bytes(self) -> int:
        """The bytes that it may take."""
        return self.values["limit_bytes"]


def _storages(values: object) -> list[torch.UntypedStorage]:
    return [v.untyped_storage() for v in tree_iter(values) if isinstance(v, torch.Tensor)]


class PeakBytes(TorchDispatchMode):
    """Counts the bytes of the storages that are made inside the block and alive at once.

    `course` has them after each storage that was made, and `peak` is the most of these.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live, self.course = 0, []

    @property
    def peak(self) -> int:
        """The most bytes that were alive at once."""
        return max(self.course, default=0)

    def __torch_dispatch__(
        self,
        func: Callable,
        types: Sequence[type],
        args: tuple = (),
        kwargs: dict | None = None,
    ) -> object:
        """Run the operation, then count the storages that appeared with its result."""
        out = func(*args, **(kwargs or {}))
        given = [id(storage) for storage in _storages((args, kwargs))]
        for storage in _storages(out):
            if id(storage) not in given:  # not a view, not written in place
                self._count(storage)
        return out

    def _count(self, storage: torch.UntypedStorage) -> None:
        size = storage.nbytes()
        self.live += size
        self.course.append(self.live)
        weakref.finalize(storage, self._release, size).atexit = False

    def _release(self, size: int) -> None:
        self.live -= size


def limit_bytes() -> int:
    """Return the budget in bytes.

    Raises:
        ValueError: MLA_MEMORY_BUDGET_GIB is set and is not a number above 0.
    """
    text = os.environ.get(VARIABLE, "1")
    try:
        gib = float(text)
    except ValueError:
        gib = math.nan
    if not (gib > 0 and math.isfinite(gib)):
        raise RefusedError("budget_variable", text=text)
    return int(gib * GIB)


def course(run: Callable[[], object]) -> list[int]:
    """Return the bytes alive after each storage that `run`, a call on meta tensors, would make.

    A caller's own counters (of FLOPs, of memory) do not see this run.
    """
    with _disable_current_modes(), PeakBytes() as meter:
        run()
    return meter.course


def peak_bytes(run: Callable[[], object]) -> int:
    """Return the most of them: what `run` would hold at its peak."""
    return max(course(run), default=0)


def require(needed_bytes: int, what: object, lower: object) -> None:
    """Raise MemoryBudgetError, with both figures and what to lower, if it is beyond the budget."""
    limit = limit_bytes()
    if needed_bytes > limit:
        bytes_ = {"needed_bytes": needed_bytes, "limit_bytes": limit}
        gib = {"needed": needed_bytes / GIB, "limit": limit / GIB}
        raise MemoryBudgetError("memory", what=what, lower=lower, **gib, **bytes_)
