"""Files of activations from the reader's own machine, kept below the first readable folder."""

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ui.engine.folders import folders
from ui.settings.server import server

MOST_MIB = 64
PLACE = "activations"
GIB, SHARE = 2**30, 4  # uploads may fill a quarter of the disk quota


def keep(data: bytes) -> str:
    """Write the file under the name of its content; the oldest make room. Returns its path.

    Raises:
        OSError: this server cannot write it.
    """
    folder = _folder()
    path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.safetensors"
    _make_room(folder, path, len(data))
    _write(path, data)
    return f"{PLACE}/{path.name}"


def _folder() -> Path:
    if not (every := folders()):
        raise OSError(None, "there is no folder for models")
    folder = every[0] / PLACE
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _make_room(folder: Path, path: Path, coming: int) -> None:
    """Remove the files that were used longest ago, until what comes fits the quota."""
    held = {file: file.stat() for file in folder.iterdir() if file.is_file() and file != path}
    total = coming + sum(stat.st_size for stat in held.values())
    for file, stat in sorted(held.items(), key=lambda item: item[1].st_mtime):
        if total <= quota_bytes():
            return
        file.unlink(missing_ok=True)
        total -= stat.st_size


def quota_bytes() -> int:
    """What all uploads may take together."""
    return int(server().disk_quota_gib * GIB / SHARE)


def _write(path: Path, data: bytes) -> None:
    """Whole, or not at all: nobody reads half a file."""
    number, partial = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        Path(partial).replace(path)
    except OSError:
        with suppress(OSError):
            Path(partial).unlink()
        raise
