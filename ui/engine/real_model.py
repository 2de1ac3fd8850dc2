"""The small real model that the server fetches: where it lies, how far it is, if it is whole."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mla_engine.checkpoints import CheckpointError, describe, open_checkpoint, real_model
from mla_engine.checkpoints.tokens import tokenizer_of
from ui.engine import shared_cache
from ui.engine.folders import inside, is_folder
from ui.settings import state
from ui.settings.server import server
from ui.settings.visit import once_per_run

LOG = logging.getLogger(__name__)
NAMES = str(real_model.FOLDER), real_model.FOLDER.name


@dataclass
class _State:
    pending: bool = False
    failed: bool = False


_state = _State()


def folder() -> Path:
    """Return its place: in the first of the folders that visitors may read."""
    return server().model_folders[0] / real_model.FOLDER.name


@once_per_run
def source() -> str:
    """Return how links name it: in the app's models/ or in another folder; "" where none is whole.

    It was made by this app, and so its files are looked at in this process.
    """
    return "" if damage() else named()


@once_per_run
def named() -> str:
    """Return how links name its folder, whole or not; "" where there is none."""
    return next(filter(is_folder, NAMES), "")


def reads() -> bool:
    """Tell whether it reads on this page, opened with or named."""
    return state.source() in NAMES


@once_per_run
def damage() -> CheckpointError | None:
    """Return what is wrong with its files; None where they are whole, or there are none."""
    if not named():
        return None
    folder = inside(named())
    with suppress(OSError):
        found = [(path.name, path.stat()) for path in sorted(folder.iterdir())]
        return _damage(folder, tuple((name, one.st_size, one.st_mtime_ns) for name, one in found))
    return None


@shared_cache.cached
def _damage(folder: Path, _files: tuple[tuple[str, int, int], ...]) -> CheckpointError | None:
    """Return what is wrong with these files, of so many bytes and written then."""
    try:
        checkpoint = open_checkpoint(folder)
        describe(checkpoint, 0)
        tokenizer_of(checkpoint)
    except CheckpointError as error:
        LOG.warning("the small real model in %s is damaged: %.300s", folder, error)
        return error
    return None


def share() -> float:
    """Return how far it is made, from 0 to 1."""
    return real_model.share(folder()) or 0.0


def begin() -> None:
    """Note that it will be made."""
    _state.pending, _state.failed = True, False


def end(*, failed: bool) -> None:
    """Note that nobody makes it any more."""
    _state.pending, _state.failed = False, failed


def pending() -> bool:
    """Tell whether it is being made, or will be."""
    return _state.pending


def failed() -> bool:
    """Tell whether it could not be made."""
    return _state.failed
