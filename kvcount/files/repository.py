"""The files of a repository on the Hub, whose packages a folder is read without."""

from importlib import import_module
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.files.folder import FOLDERS, REPOSITORY, Files


def repository_files(name: str, revision: str | None = None, **access: Any) -> Files:
    """Return the files of the Hub repository "owner/name"; a local folder is not looked for.

    Args:
        name: of the repository.
        revision: a branch, a tag or a commit.
        access: as `HubFiles` takes it.

    Raises:
        CheckpointError: nothing of that name, or no access.
    """
    if not isinstance(name, str) or not REPOSITORY.fullmatch(name):
        raise CheckpointError("no_repository_name", name=name)
    if name.startswith(FOLDERS):
        raise CheckpointError("no_such_folder", name=name)
    try:
        hub = import_module("kvcount.files.hub")
    except ModuleNotFoundError as error:
        said = {"what": name, "package": error.name, "extra": "hub"}
        raise CheckpointError("needs_package", **said) from error
    return hub.HubFiles(name, revision or None, **access)
