"""The folders that the server may read: MLA_MODEL_FOLDERS, by default models/ beside the app.

Nothing else, since everybody who has a link chooses what is read. A name that no file can have, a
link to itself or a folder without permission is no reason to fail: nothing is there.
"""

import os
from contextlib import suppress
from pathlib import Path

from mla_engine.checkpoints import CheckpointError
from ui import ROOT
from ui.settings.server import server
from ui.settings.visit import once_per_run

APP = ROOT
NO_PATH = (OSError, RuntimeError, ValueError)  # too long, a loop, no such user, a zero byte


def folders() -> list[Path]:
    """Return the folders that may be read, with all that lies below; links are followed."""
    return [real for folder in server().model_folders if (real := _real(folder))]


def inside(name: str | Path) -> Path:
    """Return a path on the server: absolute, or relative to the app or to one of these folders.

    Raises:
        CheckpointError: it leads out of the folders that may be read, or can be no path.
    """
    found = [path for base in (APP, *folders()) if (path := _real(name, base)) and _readable(path)]
    if not found:
        raise CheckpointError("outside", name=str(name))
    return next(filter(_exists, found), found[0])


def is_meant(name: str) -> bool:
    """Tell whether a name is one of a place here: as it is written, or because it is there."""
    with suppress(*NO_PATH):
        written = os.path.normpath(APP / Path(name).expanduser())
        within = [os.path.normpath(APP / folder) for folder in server().model_folders]
        if any(Path(written).is_relative_to(folder) for folder in within):
            return True
        return inside(name).exists()
    return False


def is_folder(name: str) -> bool:
    """Tell whether this is a folder that may be read."""
    with suppress(*NO_PATH):  # a refusal is a ValueError
        return inside(name).is_dir()
    return False


@once_per_run
def written(name: str) -> int:
    """Return when a file, or the last one of a folder, was written; 0 where there is none."""
    with suppress(*NO_PATH):
        place = inside(name)
        files = place.iterdir() if place.is_dir() else [place]
        return max((file.stat().st_mtime_ns for file in files), default=0)
    return 0


def _readable(path: Path) -> bool:
    """Tell whether it lies in one of the folders."""
    return any(path.is_relative_to(folder) for folder in folders())


def _exists(path: Path) -> bool:
    with suppress(*NO_PATH):
        return path.exists()
    return False


def _real(path: str | Path, base: Path | None = None) -> Path | None:
    """Return the path without links, from the app's folder or another; None for no path."""
    with suppress(*NO_PATH):
        return ((base or APP) / Path(path).expanduser()).resolve()
    return None
