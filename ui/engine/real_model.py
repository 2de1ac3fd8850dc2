"""The small real model that the server fetches: where it lies, and how far it is."""

from dataclasses import dataclass
from pathlib import Path

from mla_engine.checkpoints import real_model
from ui.engine.folders import is_folder
from ui.settings import state
from ui.settings.server import server
from ui.settings.visit import once_per_run

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
    """Return how links name it: in the app's models/ or in another folder; "" where it is not."""
    return next(filter(is_folder, NAMES), "")


def reads() -> bool:
    """Tell whether it reads on this page, opened with or named."""
    return state.source() in NAMES


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
