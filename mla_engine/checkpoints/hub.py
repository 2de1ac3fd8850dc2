"""Bytes of a checkpoint in a repository of the Hugging Face Hub.

Small files come by the Hub's own client into its own cache. Of the shards only byte ranges are
read; they lie beside that cache (`cached_assets_path`), keyed by repository, commit, file and
range. HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and HF_HOME count as they do for the client.
"""

import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import (
    HfApi,
    cached_assets_path,
    get_hf_file_metadata,
    hf_hub_download,
    hf_hub_url,
    try_to_load_from_cache,
)
from huggingface_hub import constants as hub
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import build_hf_headers, httpx, silent_tqdm

from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.local import read_span
from mla_engine.checkpoints.pieces import read_pieces
from mla_engine.checkpoints.ranges import ANSWERS, BUSY, OTHER_ANSWER, TIMEOUT_SECONDS, stream
from mla_engine.checkpoints.spans import Span
from mla_engine.refusals import Phrase, RefusedError

LIBRARY = "mla-explorer"
CONFIG, LISTING = "config.json", "files.json"
REVISION = re.compile(r"(?!.*\.\.)\w[\w./-]{0,199}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")
NOT_HELD = Phrase("not_held")
REASONS = {  # the first that fits
    GatedRepoError: Phrase("gated"),
    RepositoryNotFoundError: Phrase("no_repository"),
    RevisionNotFoundError: Phrase("no_revision"),
    DisabledRepoError: Phrase("disabled"),
    HFValidationError: Phrase("no_name"),
    OfflineModeIsEnabled: Phrase("offline"),
    LocalEntryNotFoundError: NOT_HELD,
    httpx.RequestError: NOT_HELD,
}


class HubFiles:
    """The files of one repository at one commit."""

    is_local = False

    def __init__(self, name: str, revision: str | None) -> None:
        self.name, self._asked = name, revision or "main"
        if not REVISION.fullmatch(self._asked):
            raise CheckpointError("revision", revision=revision)
        self._endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or hub.ENDPOINT
        self._away = False
        with self._clear():
            self.revision, self._sizes = self._look_up()
            self._pieces = self._folder(self.revision)
            if not self._away:
                self._keep_listing()

    def names(self) -> tuple[str, ...]:
        """Names of all files of the repository."""
        return tuple(sorted(self._sizes))

    def small_file(self, name: str, most_bytes: int) -> Path | None:
        """Path of a file in the Hub's cache, None if there is none; an error above `most_bytes`."""
        if name not in self._sizes:
            return None
        if (size := self.size(name)) > most_bytes:
            raise CheckpointError("too_large", name=name, size=size, most=most_bytes)
        with self._clear():
            if name == CONFIG:  # by its branch, so that the client notes the commit for later
                self._download(name, self._asked)
            return self._download(name, self.revision)

    def size(self, file: str) -> int:
        """Size of a file in bytes; CheckpointError if it is missing."""
        if file not in self._sizes:
            if self._away:
                raise CheckpointError("at", where=file, reason=NOT_HELD)
            raise CheckpointError("not_listed", file=file, where=self.name)
        if self._sizes[file] is None:
            with self._clear():
                headers = build_hf_headers(library_name=LIBRARY)
                self._sizes[file] = get_hf_file_metadata(self._url(file), headers=headers).size
        return self._sizes[file] or 0

    def read(self, spans: Sequence[Span], report: Callable[[int], None]) -> list[bytearray]:
        """The bytes of each span: from a file that the cache holds whole, else by ranges."""
        whole = {file: self._whole(file) for file in {span.file for span in spans}}
        at_hand = [span for span in spans if whole[span.file]]
        others = [span for span in spans if not whole[span.file]]
        data = {span: read_span(whole[span.file], span, report) for span in at_hand}
        pieces = read_pieces(self._pieces, others, self._stream, report) if others else []
        data |= dict(zip(others, pieces, strict=True))
        return [data[span] for span in spans]

    def _look_up(self) -> tuple[str, dict[str, int | None]]:
        """The commit and its files with their sizes: from the Hub, or else from the cache."""
        try:
            return self._ask()
        except (OfflineModeIsEnabled, httpx.RequestError, HfHubHTTPError) as error:
            if isinstance(error, HfHubHTTPError) and error.response.status_code not in BUSY:
                raise
            self._away = True
            try:
                snapshot = self._download(CONFIG, self._asked).parent
            except LocalEntryNotFoundError:
                raise error from None
            return snapshot.name, self._kept_listing(snapshot)

    def _ask(self) -> tuple[str, dict[str, int | None]]:
        api = HfApi(endpoint=self._endpoint, library_name=LIBRARY)
        asked = {"revision": self._asked, "files_metadata": True, "timeout": TIMEOUT_SECONDS}
        try:
            info = api.model_info(self.name, **asked)
            sizes = {str(file.rfilename): _size(file.size) for file in info.siblings}
            commit = COMMIT.fullmatch(info.sha)[0]
        except (HFValidationError, HfHubHTTPError):
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise CheckpointError("not_the_hub", endpoint=self._endpoint) from error
        return commit, sizes

    def _folder(self, commit: str) -> Path:
        """Where the pieces of this commit lie."""
        place = {"library_name": LIBRARY, "namespace": self.name, "subfolder": commit}
        return cached_assets_path(**place, assets_dir=hub.HF_ASSETS_CACHE)

    def _keep_listing(self) -> None:
        listing = self._pieces / LISTING
        if not listing.exists():
            partial = listing.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            partial.write_text(json.dumps(self._sizes), "utf-8")
            partial.replace(listing)

    def _kept_listing(self, snapshot: Path) -> dict[str, int | None]:
        """The listing kept with the pieces; without one, the files that the cache holds whole."""
        listing = self._folder(snapshot.name) / LISTING
        if listing.exists():
            return json.loads(listing.read_text("utf-8"))
        return {path.name: path.stat().st_size for path in snapshot.iterdir() if path.is_file()}

    def _download(self, name: str, revision: str) -> Path:
        place = {"revision": revision, "endpoint": self._endpoint, "library_name": LIBRARY}
        quiet = {"local_files_only": self._away, "tqdm_class": silent_tqdm}
        return Path(hf_hub_download(self.name, name, **place, **quiet))

    def _whole(self, file: str) -> Path | None:
        path = try_to_load_from_cache(self.name, file, revision=self.revision)
        return Path(path) if isinstance(path, str) else None

    def _url(self, file: str) -> str:
        return hf_hub_url(self.name, file, revision=self.revision, endpoint=self._endpoint)

    def _stream(self, span: Span) -> Iterator[bytes]:
        if self._away:
            raise CheckpointError("at", where=self._where(), reason=NOT_HELD)
        headers = build_hf_headers(library_name=LIBRARY)
        with self._clear():
            yield from stream(self._url(span.file), headers, span, self.size(span.file))

    def _where(self) -> Phrase:
        place = {"name": self.name, "revision": self._asked}
        if self._endpoint == hub.ENDPOINT:
            return Phrase("revision", **place)
        return Phrase("mirrored_revision", **place, mirror=self._endpoint)

    @contextmanager
    def _clear(self) -> Iterator[None]:
        """Turn the client's errors into one sentence, without addresses and tokens."""
        try:
            yield
        except CheckpointError:
            raise
        except (*REASONS, HfHubHTTPError, OSError, ValueError) as error:
            reasons = [text for kind, text in REASONS.items() if isinstance(error, kind)]
            if isinstance(error, HfHubHTTPError):
                status = error.response.status_code
                meaning = ANSWERS.get(status, OTHER_ANSWER)
                reasons.append(Phrase("hub_answers", status=status, meaning=meaning))
            reasons.append(f"{type(error).__name__}: {error!s:.200}")
            raise CheckpointError("at", where=self._where(), reason=reasons[0]) from error


def _size(said: object) -> int | None:
    """A file's size in the listing, which may leave it out; ValueError if it is none."""
    if said is None or (type(said) is int and said >= 0):
        return said
    raise RefusedError("listed_size", said=said)
