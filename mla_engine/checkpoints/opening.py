"""From what a caller names to an open checkpoint: a folder on this machine, or a Hub repository."""

from importlib import import_module
from pathlib import Path
from typing import Any

from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.local import LocalFiles
from mla_engine.checkpoints.names import REPOSITORY
from mla_engine.checkpoints.source import ByteSource, Checkpoint


def open_checkpoint(
    source: str | Path | Checkpoint,
    revision: str | None = None,
    *,
    token: bool | str | None = None,
    folder: str | Path | None = None,
    quota_bytes: int | None = None,
) -> Checkpoint:
    """The checkpoint in a local folder, or in the Hub repository "owner/name" at a revision.

    One that is open already is returned as it is.

    Args:
        source: "owner/name" on the Hub, a folder, or an open checkpoint.
        revision: of a Hub repository.
        token: for the Hub, as its client takes it; False sends none.
        folder: where all that is fetched is kept, and alone looked for, in the place of the
            client's caches.
        quota_bytes: that this folder may take; what was not used for long is removed.

    Raises:
        CheckpointError: nothing of that name, no access, or no model in safetensors files.
    """
    if isinstance(source, Checkpoint):
        return source
    if local := _folder(source):
        if revision:
            raise CheckpointError("folder_revision", revision=revision)
        return Checkpoint(LocalFiles(local))
    if not isinstance(source, str) or not REPOSITORY.fullmatch(source):
        raise CheckpointError("no_folder", source=str(source))
    place = {"token": token, "folder": folder, "quota_bytes": quota_bytes}
    return open_repository(source, revision, **place)


def open_repository(
    name: str,
    revision: str | None = None,
    *,
    token: bool | str | None = None,
    folder: str | Path | None = None,
    quota_bytes: int | None = None,
    hourly_bytes: int | None = None,
) -> Checkpoint:
    """The checkpoint in the Hub repository "owner/name"; a local folder is not looked for.

    Arguments and errors as `open_checkpoint`; `hourly_bytes` is what a folder with a quota may
    fetch in an hour, and one visitor a fourth of it.
    """
    place = {"folder": folder, "quota_bytes": quota_bytes, "hourly_bytes": hourly_bytes}
    return Checkpoint(repository_files(name, revision, token=token, **place))


def repository_files(name: str, revision: str | None = None, **access: Any) -> ByteSource:
    """The files of a Hub repository; arguments and errors as `open_repository`."""
    if not isinstance(name, str) or not REPOSITORY.fullmatch(name):
        raise CheckpointError("no_repository_name", name=name)
    hub = import_module("mla_engine.checkpoints.hub")  # a folder is read without its packages
    return hub.HubFiles(name, revision or None, hub.Access(**access))


def _folder(source: str | Path) -> Path | None:
    if not source or not isinstance(source, str | Path):  # "" would be the present folder
        return None
    try:
        folder = Path(source).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long, a zero byte, no such user
        return None
