"""What the server may read: folders below MLA_MODEL_FOLDERS, by default models/ beside the app.

Nothing else, since everybody who has a link chooses what is read.
"""

import os
from pathlib import Path

from mla_engine.checkpoints import CheckpointError
from ui.text import t

APP = Path(__file__).parent.parent
VARIABLE = "MLA_MODEL_FOLDERS"


def folders() -> list[Path]:
    """The folders that may be read, with all that lies below."""
    named = os.environ.get(VARIABLE)
    return [Path(p).resolve() for p in named.split(os.pathsep)] if named else [APP / "models"]


def inside(name: str) -> Path:
    """A path on the server, relative to the app or absolute.

    Raises:
        CheckpointError: it leads out of the folders that may be read.
    """
    path = (APP / Path(name).expanduser()).resolve()
    if not any(path.is_relative_to(folder) for folder in folders()):
        allowed = ", ".join(map(str, folders()))
        raise CheckpointError(t("source.outside", path=name, folders=allowed, variable=VARIABLE))
    return path
