"""The places that keep what came of a Hub repository: the client's caches, or a folder.

Both keep byte ranges by repository, commit, file and range, and beside them a listing of the
commit's files, so that a repository is read again while the Hub is away.
"""

import json
import os
import re
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from urllib.parse import quote

from huggingface_hub import cached_assets_path, hf_hub_download, try_to_load_from_cache
from huggingface_hub import constants as hub
from huggingface_hub.utils import silent_tqdm

from kvcount.files import quota
from kvcount.files.errors import usable
from kvcount.files.folder import CONFIG

LIBRARY = "mla-explorer"
LISTING = "files.json"
COMMIT = re.compile(r"[0-9a-f]{40}")
Sizes = dict[str, int | None]
Bounds = tuple[int | None, int | None]  # bytes of quota, and an hour


class ClientCaches:
    """The caches that other programs on this machine share; small files come by the client."""

    def __init__(self, name: str, revision: str, endpoint: str, token: bool | str | None) -> None:
        self.name, self._asked = name, revision
        self._access = {"endpoint": endpoint, "token": token, "library_name": LIBRARY}

    def last(self) -> tuple[str, Sizes]:
        """Return the commit that was read last, and its files: the whole ones without a listing."""
        snapshot = self.small(CONFIG, self._asked, away=True).parent
        listing = self.pieces(snapshot.name) / LISTING
        if listing.exists():
            return snapshot.name, json.loads(listing.read_text("utf-8"))
        files = [path for path in snapshot.iterdir() if path.is_file()]
        return snapshot.name, {path.name: path.stat().st_size for path in files}

    def save(self, commit: str, sizes: Sizes) -> None:
        """Keep the listing of a commit."""
        _write(self.pieces(commit) / LISTING, json.dumps(sizes))

    def pieces(self, commit: str) -> Path:
        """Return the folder of a commit's byte ranges."""
        place = {"library_name": LIBRARY, "namespace": self.name, "subfolder": commit}
        return cached_assets_path(**place, assets_dir=hub.HF_ASSETS_CACHE)

    def small(self, file: str, commit: str, *, away: bool) -> Path:
        """Return a whole file that the client brings."""
        quiet = {"local_files_only": away, "tqdm_class": silent_tqdm}
        if file == CONFIG:  # by its branch, so that the client notes the commit for later
            hf_hub_download(self.name, file, revision=self._asked, **self._access, **quiet)
        return Path(hf_hub_download(self.name, file, revision=commit, **self._access, **quiet))

    def whole(self, file: str, commit: str) -> Path | None:
        """Return a file that another program fetched, None if there is none."""
        path = try_to_load_from_cache(self.name, file, revision=commit)
        return Path(path) if isinstance(path, str) else None

    def using(self, folder: Path, _: Mapping[Path, int]) -> AbstractContextManager[quota.FreeDisk]:
        """Enter the use of files below `folder`, of which none is ever removed here."""
        return nullcontext(quota.FreeDisk(folder))


class OwnFolder:
    """A folder of the caller's own, with a quota; the client's caches are not even looked at.

    What was read with a token lies in another folder than what everybody may read.
    """

    def __init__(
        self, root: str | Path, name: str, revision: str, is_public: bool, bounds: Bounds
    ) -> None:
        with usable(root):
            self._root = Path(root).expanduser().absolute()
        self._asked, self._bounds = revision, bounds
        kind = "public" if is_public else "granted"
        self._folder = self._root / kind / quote(name, safe="")
        self._ref = self._folder / "revisions" / quote(revision, safe="")

    def last(self) -> tuple[str, Sizes]:
        """Return the commit that this revision had last, and its files."""
        known = COMMIT.fullmatch(self._asked)
        commit = self._asked if known else self._ref.read_text("utf-8")
        return commit, json.loads((self.pieces(commit) / LISTING).read_text("utf-8"))

    def save(self, commit: str, sizes: Sizes) -> None:
        """Keep the listing of a commit, and that this revision means it."""
        listing, text = self.pieces(commit) / LISTING, json.dumps(sizes)
        with self.using(listing.parent, {listing: len(text), self._ref: len(commit)}) as use:
            if not listing.exists():
                use.reserve(len(text))
            _write(listing, text)
            _write(self._ref, commit)

    def pieces(self, commit: str) -> Path:
        """Return the folder of a commit's byte ranges."""
        return self._folder / commit

    def small(self, _file: str, _commit: str, *, away: bool) -> None:
        """Return None: small files are byte ranges, too."""

    def whole(self, _file: str, _commit: str) -> None:
        """Return None: no other program writes here."""

    def using(self, _: Path, sizes: Mapping[Path, int]) -> AbstractContextManager[quota.Use]:
        """Enter the use of these files, which stay meanwhile."""
        return quota.using(self._root, sizes, *self._bounds)


def _write(path: Path, text: str) -> None:
    """Write a file in one step, unless it holds this text."""
    if path.exists() and path.read_text("utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    partial.write_text(text, "utf-8")
    partial.replace(path)
