"""The files of a repository of the Hugging Face Hub.

Of the shards only byte ranges are read, by `pieces`. HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and
HF_HOME count as they do for the Hub's own client, which brings the listing and small files, unless
the caller says with which token, and into which folder.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import HfApi, constants, errors, get_hf_file_metadata, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from huggingface_hub.utils import build_hf_headers, httpx

from kvcount.files import pieces
from kvcount.files.errors import CheckpointError
from kvcount.files.folder import Report, Span, at_most, read_span
from kvcount.files.hub_cache import COMMIT, LIBRARY, ClientCaches, OwnFolder, Sizes
from kvcount.refusals import Phrase, RefusedError

REVISION = re.compile(r"(?!.*\.\.)\w[\w./-]{0,199}", re.ASCII)
NOT_HELD = Phrase("not_held")
PUBLIC_ONLY = Phrase("public_only")
REASONS = {  # the first that fits
    errors.GatedRepoError: Phrase("gated"),
    errors.RepositoryNotFoundError: Phrase("no_repository"),
    errors.RevisionNotFoundError: Phrase("no_revision"),
    errors.DisabledRepoError: Phrase("disabled"),
    HFValidationError: Phrase("no_name"),
    OfflineModeIsEnabled: Phrase("offline"),
    errors.LocalEntryNotFoundError: NOT_HELD,
    httpx.RequestError: NOT_HELD,
}
PUBLIC_REASONS = {  # to readers who cannot give a token, or make the machine go online
    errors.GatedRepoError: PUBLIC_ONLY,
    errors.RepositoryNotFoundError: PUBLIC_ONLY,
    OfflineModeIsEnabled: NOT_HELD,
}
PUBLIC_ANSWERS = {status: Phrase("so_public_only") for status in (401, 403)}


class HubFiles:
    """The files of one repository at one commit.

    Args:
        token: as the Hub's client takes it; False sends none.
        folder: for all that is fetched, in the place of the client's caches.
        quota_bytes: that the folder may take, if there is one.
        hourly_bytes: that may be fetched into a folder with a quota in an hour.
    """

    def __init__(
        self,
        name: str,
        revision: str | None = None,
        *,
        token: bool | str | None = None,
        folder: str | Path | None = None,
        quota_bytes: int | None = None,
        hourly_bytes: int | None = None,
    ) -> None:
        self.name, self._asked = name, revision or "main"
        if not REVISION.fullmatch(self._asked):
            raise CheckpointError("revision", revision=revision)
        is_public = token is False  # everybody may read what is read so
        self._client = {"token": token, "library_name": LIBRARY}
        self._endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or constants.ENDPOINT
        self._reasons = REASONS | (PUBLIC_REASONS if is_public else {})
        self._answers = pieces.ANSWERS | (PUBLIC_ANSWERS if is_public else {})
        self._away = False
        with self._clear():
            if folder is None:
                self._cache = ClientCaches(name, self._asked, self._endpoint, token)
            else:
                bounds = quota_bytes, hourly_bytes
                self._cache = OwnFolder(folder, name, self._asked, is_public, bounds)
            self.revision, self._sizes = self._look_up()
            self._pieces = self._cache.pieces(self.revision)
            if not self._away:
                self._cache.save(self.revision, self._sizes)

    def names(self) -> tuple[str, ...]:
        """Return the names of all files of the repository."""
        return tuple(sorted(self._sizes))

    def small_file(self, name: str, most_bytes: int) -> bytes | None:
        """Return all of a file, None if there is none; CheckpointError above `most_bytes`."""
        if name not in self._sizes:
            return None
        if (size := self.size(name)) > most_bytes:
            raise CheckpointError("too_large", name=name, size=size, most=most_bytes)
        with self._clear():
            path = self._cache.small(name, self.revision, away=self._away)
        if path:
            return at_most(path, name, most_bytes)
        return bytes(self.read([Span(name, 0, size)], lambda _: None)[0])

    def size(self, file: str) -> int:
        """Return the size of a file in bytes; CheckpointError if it is missing."""
        if file not in self._sizes:
            if self._away:
                raise CheckpointError("at", where=file, reason=NOT_HELD)
            raise CheckpointError("not_listed", file=file, where=self.name)
        if self._sizes[file] is None:
            with self._clear():
                self._sizes[file] = get_hf_file_metadata(self._url(file), **self._client).size
        return self._sizes[file] or 0

    def fetch(self, spans: Sequence[Span], report: Report) -> None:
        """Bring the spans to the disk, not into memory."""
        whole = self._whole(spans)
        report(sum(span.n_bytes for span in spans if whole[span.file]))
        with self._fetched([span for span in spans if not whole[span.file]], report):
            pass

    def read(self, spans: Sequence[Span], report: Report) -> list[bytearray]:
        """Return the bytes of each span: from a file that is held whole, else by ranges."""
        whole = self._whole(spans)
        data = {s: read_span(path, s, report) for s in spans if (path := whole[s.file])}
        others = [span for span in spans if not whole[span.file]]
        with self._fetched(others, report):
            data |= zip(others, pieces.load_pieces(self._pieces, others), strict=True)
        return [data[span] for span in spans]

    @contextmanager
    def _fetched(self, spans: Sequence[Span], report: Report) -> Iterator[None]:
        """Bring the pieces of these spans to the disk, where they stay inside the block."""
        if not spans:
            yield
            return
        with self._cache.using(self._pieces, pieces.piece_sizes(self._pieces, spans)) as use:
            pieces.fetch_pieces(self._pieces, spans, self._stream, report, use.reserve)
            yield

    def _whole(self, spans: Sequence[Span]) -> dict[str, Path | None]:
        """Return the path of each file that is held whole, None for the others."""
        files = {span.file for span in spans}
        return {file: self._cache.whole(file, self.revision) for file in files}

    def _look_up(self) -> tuple[str, Sizes]:
        """Return the commit and its files with sizes: from the Hub, or else from what is kept."""
        try:
            return self._ask()
        except (OfflineModeIsEnabled, httpx.RequestError, HfHubHTTPError) as error:
            if isinstance(error, HfHubHTTPError) and error.response.status_code not in pieces.BUSY:
                raise
            self._away = True
            try:
                return self._cache.last()
            except FileNotFoundError:
                raise error from None

    def _ask(self) -> tuple[str, Sizes]:
        asked = {"revision": self._asked, "files_metadata": True, "timeout": pieces.TIMEOUT_SECONDS}
        try:
            info = HfApi(endpoint=self._endpoint, **self._client).model_info(self.name, **asked)
            sizes = {str(file.rfilename): _size(file.size) for file in info.siblings}
            commit = COMMIT.fullmatch(info.sha)[0]
        except (HFValidationError, HfHubHTTPError):
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise CheckpointError("not_the_hub", endpoint=self._endpoint) from error
        return commit, sizes

    def _url(self, file: str) -> str:
        return hf_hub_url(self.name, file, revision=self.revision, endpoint=self._endpoint)

    def _stream(self, span: Span) -> Iterator[bytes]:
        if self._away:
            raise CheckpointError("at", where=self._where(), reason=NOT_HELD)
        with self._clear():
            url, size = self._url(span.file), self.size(span.file)
            headers = build_hf_headers(**self._client)
            yield from pieces.stream(url, headers, span, size, self._answers)

    def _where(self) -> Phrase:
        place = {"name": self.name, "revision": self._asked}
        if self._endpoint == constants.ENDPOINT:
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
            reasons = [text for kind, text in self._reasons.items() if isinstance(error, kind)]
            if isinstance(error, HfHubHTTPError):
                status = error.response.status_code
                meaning = self._answers.get(status, pieces.OTHER_ANSWER)
                reasons.append(Phrase("hub_answers", status=status, meaning=meaning))
            if isinstance(error, OSError) and error.strerror:  # whose text names a path, too
                reasons.append(Phrase("on_disk", reason=error.strerror))
            reasons.append(f"{type(error).__name__}: {error!s:.200}")
            raise CheckpointError("at", where=self._where(), reason=reasons[0]) from error


def _size(said: object) -> int | None:
    """Return a file's size in the listing, which may leave it out; ValueError if it is none."""
    if said is None or (type(said) is int and said >= 0):
        return said
    raise RefusedError("listed_size", said=said)
