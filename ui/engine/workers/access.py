"""The places that visitors may read, and what a worker is given to read them with."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kvcount.files.errors import usable
from kvcount.lazy import LazyModule
from mla_engine.checkpoints import CheckpointError
from ui.engine.folders import inside, written
from ui.settings.server import server

constants = LazyModule("huggingface_hub.constants")

GIB = 2**30
ASSETS = "mla-explorer"  # the app's own folder among those of the Hub's client
PASSED = {
    "PATH", "HOME", "USER", "LANG", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "VIRTUAL_ENV",
    "PYTHONPATH", "LD_LIBRARY_PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "HF_ENDPOINT", "HF_HOME", "HF_HUB_DOWNLOAD_TIMEOUT",
    "HF_HUB_ETAG_TIMEOUT", "MLA_MEMORY_BUDGET_GIB",
}  # fmt: skip
OF_OWNER = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}
FIXED = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_ARENA_MAX": "2",  # each arena takes 64 MiB of the address space
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_DISABLE_TELEMETRY": "1",  # which asks the Hub for more than the repository
}


@dataclass(frozen=True)
class Place:
    """A checkpoint that may be read: a folder on this server, or a repository of the Hub."""

    name: str  # as the visitor wrote it
    revision: str
    folder: Path | None
    as_owner: bool  # read with the owner's token, from the owner's cache

    @cached_property
    def where(self) -> dict[str, Any]:
        """The place for a worker; `root` is the folder that holds it, and that no answer names."""
        root = self.folder.parent if self.folder else own_cache()
        name, is_folder = str(self.folder or self.name), bool(self.folder)
        free, ours = is_folder or self.as_owner, server()
        bounds = {"quota_bytes": ours.disk_quota_gib, "hourly_bytes": ours.downloads_gib}
        given = {"name": name, "revision": self.revision, "is_folder": is_folder, "root": str(root)}
        given["written"] = written(name) if is_folder else 0  # another in its place is opened anew
        return given | {n: None if free else int(gib * GIB) for n, gib in bounds.items()}

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a worker that reads it: a token only where it is read as its owner."""
        given = {name: text for name in PASSED if (text := os.environ.get(name))} | FIXED
        given["HF_HUB_OFFLINE"] = str(int(constants.HF_HUB_OFFLINE))
        given |= {name: getattr(constants, name) for name in ("HF_HUB_CACHE", "HF_ASSETS_CACHE")}
        if not self.as_owner:
            return given | {"HF_TOKEN_PATH": os.devnull, "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}
        given |= {name: text for name in OF_OWNER if (text := os.environ.get(name))}
        return given | {"HF_TOKEN_PATH": constants.HF_TOKEN_PATH}


def own_cache() -> Path:
    """Return the folder for what visitors had the app read of the Hub."""
    return Path(constants.HF_ASSETS_CACHE) / ASSETS


def folder(name: str, revision: str) -> Place:
    """Return the place of a folder on this server.

    Raises:
        CheckpointError: it lies outside the folders that may be read, or is not there.
    """
    path = inside(name)
    with usable(name):
        if not path.exists():
            raise CheckpointError("no_such_folder", name=name)
    return Place(name, revision, path, as_owner=False)


def repository(name: str, revision: str) -> Place:
    """Return the place of a repository of the Hub.

    Raises:
        CheckpointError: this server does not read it.
    """
    allowed = server().repositories
    if allowed == "none":
        raise CheckpointError("no_repositories", name=name)
    if allowed != "any" and name not in allowed:
        raise CheckpointError("repository_not_listed", name=name, listed=", ".join(allowed))
    return Place(name, revision, None, as_owner=name in server().token_repositories)
