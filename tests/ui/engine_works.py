"""Work that the engines are tried with: a replica of Ray finds it here by its name."""

import os
from pathlib import Path

import numpy as np
import torch

from kvcount.lazy import LazyModule
from kvcount.refusals import Phrase, RefusedError
from ui.engine import queue, shared_cache

ray = LazyModule("ray")


def note(folder: str, event: str) -> None:
    """Add a line to a file of this name: whoever did it in whichever process."""
    with (Path(folder) / event).open("a", encoding="utf-8") as file:
        file.write("x")


def noted(folder: str | Path, event: str) -> int:
    """Return how often it was noted."""
    file = Path(folder) / event
    return len(file.read_text("utf-8")) if file.exists() else 0


@shared_cache.cached(anywhere=True)
def held(folder: str, name: str) -> str:
    """Begins, and ends when it is told to; notes both."""
    with queue.turn():
        note(folder, f"begun {name}")
        number = torch.zeros(1)
        try:
            while not noted(folder, "end"):
                number.add_(1)
        finally:
            note(folder, f"ended {name}")
    return name


@shared_cache.cached(anywhere=True)
def block(folder: str, name: str, n_bytes: int) -> np.ndarray:
    """So many bytes."""
    note(folder, f"begun {name}")
    return np.ones(n_bytes, np.uint8)


@shared_cache.cached(anywhere=True)
def refused(head: int) -> None:
    """Refuses, with a number, a text and a phrase."""
    raise RefusedError(
        "memory", what=Phrase("less_deep"), needed=float(head), limit=1.0, lower="it"
    )


@shared_cache.cached(anywhere=True)
def mistaken() -> None:
    """Fails as nobody foresaw."""
    raise KeyError("a mistake")


@shared_cache.cached(anywhere=True)
def late() -> None:
    """Fails as one who waits too long."""
    raise TimeoutError("a mistake")


@shared_cache.cached(anywhere=True)
def process(_number: int) -> int:
    """Return the process that does it."""
    return os.getpid()


def doubled_batch(given: list[tuple[str, int]]) -> list[int]:
    """Notes whether several came; an odd number of them is refused."""
    refuses = len(given) > 1 and len(given) % 2
    note(given[0][0], "refused" if refuses else "one" if len(given) == 1 else "several")
    if refuses:
        raise RefusedError("waiting", most=2)
    return [2 * number for _, number in given]


@shared_cache.cached(anywhere=True, batch=doubled_batch)
def doubled(_folder: str, number: int) -> int:
    """Twice the number."""
    return 2 * number


@shared_cache.cached(anywhere=True)
def share_of_gpu(_number: int) -> tuple[int, float]:
    """Return the process that does it, and what it has of a GPU."""
    return os.getpid(), ray.get_runtime_context().get_assigned_resources()["GPU"]
