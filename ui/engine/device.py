"""The device of heavy work: choose it, wait for it, and refuse what its memory has no room for."""

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from kvcount.refusals import RefusedError
from ui.settings.server import Server, server

_frees: list[Callable[[], None]] = []  # what lets go of memory when there is none left


def chosen(ours: Server) -> str:
    """Return the device that MLA_DEVICE asks for.

    By itself ("auto") the app takes a GPU if there is one, unless several processes would share it:
    each has a line of its own, and two heavy runs would be on the GPU at once.
    """
    if ours.device != "auto":
        return ours.device
    return "cuda" if torch.cuda.is_available() and ours.processes == 1 else "cpu"


DEVICE = chosen(server())


def when_full(let_go: Callable[[], None]) -> None:
    """Have `let_go` called where the device has no memory left."""
    _frees.append(let_go)


def settle() -> None:
    """Wait until the GPU has done what it was given, as it works while the program goes on.

    Called before a turn of the queue ends, so that no two visitors' work is on the GPU at once.
    """
    if DEVICE == "cuda":
        torch.cuda.synchronize()


@contextmanager
def within_memory() -> Iterator[None]:
    """Run a block; what the device has no memory for is refused, and what can be freed is.

    Raises:
        RefusedError: the device is full: which, and what to lower.
    """
    full = False
    try:
        yield
    except torch.OutOfMemoryError as error:
        traceback.clear_frames(error.__traceback__)  # they hold what the run had made so far
        full = True
    if full:  # here the error has gone, and its tensors with it
        for let_go in _frees:
            let_go()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        raise RefusedError("device_full", device=DEVICE)
