"""The small real model with MLA, which is made of the other: where it lies."""

from pathlib import Path

from mla_engine.checkpoints import real_mla
from ui.engine.folders import is_folder
from ui.settings import state
from ui.settings.server import server
from ui.settings.visit import once_per_run

NAMES = str(real_mla.FOLDER), real_mla.FOLDER.name


def folder() -> Path:
    """Return its place: in the first of the folders that visitors may read."""
    return server().model_folders[0] / real_mla.FOLDER.name


@once_per_run
def source() -> str:
    """Return how links name it: in the app's models/ or in another folder; "" where it is not."""
    return next(filter(is_folder, NAMES), "")


def reads() -> bool:
    """Tell whether it reads on this page."""
    return state.source() in NAMES
