"""How much may be fetched in an hour: by all who share a folder, and by each for whom it is.

The processes that share the folder add to one file in it, so the bounds are the machine's.
"""

import json
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path

from mla_engine.checkpoints.errors import CheckpointError

HOUR_SECONDS = 3600
OWN_SHARE = 4  # one visitor may have a fourth of what all may
GIB = 2**30
asker: ContextVar[str] = ContextVar("asker", default="")
"""For whom this thread fetches."""


def spend(
    file: Path, n_bytes: int, hourly_bytes: int, clock: Callable[[], float] = time.time
) -> None:
    """Count bytes that are about to come, or, negative, that did not; nobody else may meanwhile.

    Raises:
        CheckpointError: they are more than is left of this hour, and were not counted.
    """
    hour = int(clock() // HOUR_SECONDS)
    had, who = _had(file, hour), asker.get()
    own = had.get(who, 0) + n_bytes
    every = sum(had.values()) + n_bytes
    coming, each = n_bytes / GIB, hourly_bytes // OWN_SHARE
    if n_bytes > 0 and own > each:
        raise CheckpointError("fetched_own", needed=coming, most=each / GIB)
    if n_bytes > 0 and every > hourly_bytes:
        raise CheckpointError("fetched_all", needed=coming, most=hourly_bytes / GIB)
    partial = file.with_suffix(".new")
    partial.write_text(json.dumps({"hour": hour, "had": had | {who: max(0, own)}}), "utf-8")
    partial.replace(file)


def _had(file: Path, hour: int) -> dict[str, int]:
    """Bytes of this hour by asker; none of a file that is missing or damaged."""
    try:
        said = json.loads(file.read_text("utf-8"))
        return dict(said["had"]) if said["hour"] == hour else {}
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return {}
