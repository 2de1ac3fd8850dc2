"""The files of a model on this machine: a folder's, or those that a GGUF file stands for."""

from pathlib import Path

from kvcount.files.errors import CheckpointError, unreadable, usable
from kvcount.files.folder import Files, LocalFiles
from kvcount.files.gguf.files import GgufFiles
from kvcount.files.gguf.header import MAGIC

ENDING = ".gguf"


def is_gguf(path: Path) -> bool:
    """Tell whether a file is meant as GGUF: by its name, or by its first bytes."""
    with unreadable(path.name):
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return path.name.lower().endswith(ENDING) or file.read(len(MAGIC)) == MAGIC


def local_files(path: Path) -> Files:
    """Return the files of a folder, or of a GGUF file; of one alone in its folder, too.

    Raises:
        CheckpointError: a file that is no GGUF, several of them in a folder.
    """
    with usable(str(path)):
        path = path.expanduser().resolve()
    if is_gguf(path):
        return _gguf(LocalFiles(path.parent), path.name)
    files = LocalFiles(path)
    names = files.names()
    found = [name for name in names if name.lower().endswith(ENDING)]
    if not found or any(".safetensors" in name for name in names):
        return files
    if len(found) > 1:
        raise CheckpointError("gguf_several", name=files.name, listed=", ".join(found[:6]))
    return _gguf(files, found[0])


def _gguf(files: LocalFiles, name: str) -> GgufFiles:
    """Return what a GGUF file stands for, whose numbers numpy reads."""
    try:
        return GgufFiles(files, name)
    except ModuleNotFoundError as error:
        said = {"what": name, "package": error.name, "extra": "weights"}
        raise CheckpointError("needs_package", **said) from error
