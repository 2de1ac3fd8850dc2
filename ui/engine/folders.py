"""What the server may read: folders below MLA_MODEL_FOLDERS, by default models/ beside the app.

Nothing else, since everybody who has a link chooses what is read.
"""

import os
from pathlib import Path

from mla_engine.checkpoints import CheckpointError
from ui import ROOT

APP = ROOT
VARIABLE = "MLA_MODEL_FOLDERS"


def folders() -> list[Path]:
    """The folders that may be read, with all that lies below; links are followed."""
    named = os.environ.get(VARIABLE) or str(APP / "models")
    return [Path(folder).resolve() for folder in named.split(os.pathsep)]


def readable(path: Path) -> bool:
    """Whether it lies in one of these folders."""
    return any(path.resolve().is_relative_to(folder) for folder in folders())


def inside(name: str) -> Path:
    """A path on the server, relative to the app or absolute.

    Raises:
        CheckpointError: it leads out of the folders that may be read.
    """
    path = (APP / Path(name).expanduser()).resolve()
    if not readable(path):
        allowed = ", ".join(map(str, folders()))
        raise CheckpointError("outside", path=name, folders=allowed, variable=VARIABLE)
    return path
