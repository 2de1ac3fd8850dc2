"""Byte ranges of files: fetched over HTTP (RFC 9110), kept on the disk as pieces.

A piece is complete, or it is not there: it grows in order in `NAME.incomplete` and gets its name
with its last byte. What was cut off is taken up where it ended; a lock keeps a
folder to one writer.

The Hub's client brings the connections and their settings. Its own range reads (`HfFileSystem`,
`parse_safetensors_file_metadata`, `http_get`) are not used: they take a body before they look at
what it is, so a server that ignores ranges sends a whole file; wait for as long as a server asks,
and cannot be stopped meanwhile; and keep no range on the disk, where it is counted and found again.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from huggingface_hub.constants import HF_HUB_DOWNLOAD_TIMEOUT
from huggingface_hub.utils import WeakFileLock, get_session, httpx

from kvcount.files.errors import CheckpointError, unreadable
from kvcount.files.folder import Report, Span, read_span
from kvcount.files.quota import KEPT, LOCK, PARTIAL
from kvcount.refusals import Phrase

TIMEOUT_SECONDS = HF_HUB_DOWNLOAD_TIMEOUT  # without a byte
BUSY = (408, 429, 500, 502, 503, 504)
ANSWERS = {
    401: Phrase("answer_401"),
    403: Phrase("answer_403"),
    404: Phrase("answer_404"),
    416: Phrase("answer_416"),
    429: Phrase("answer_429"),
}
OTHER_ANSWER = Phrase("other_answer")
CONNECTIONS, THREADS = 6, "byte-ranges"
TRIES = 5  # in a row without PROGRESS_BYTES in between
PROGRESS_BYTES = 2**20
WAIT_SECONDS = 0.5  # before the second try, then twice as long each time
MOST_WAIT_SECONDS = 60.0
POLL_SECONDS = 0.1
MOST_GAP_BYTES = 2**16
WASTE = 1 / 32  # gaps that are read over, as a part of what is wanted
Stream = Callable[[Span], Iterator[bytes]]


class Interrupted(Exception):  # noqa: N818 - it is retried, not shown
    """A transfer broke off; another try may begin in `after_seconds`."""

    def __init__(self, reason: Phrase, after_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.reason, self.after_seconds = reason, after_seconds


class _StoppedError(Exception):
    """The caller gave up, and so does the thread."""


def stream(
    url: str,
    headers: dict[str, str],
    span: Span,
    size: int,
    answers: Mapping[int, Phrase] = ANSWERS,
) -> Iterator[bytes]:
    """Yield the bytes of `span`, of a file of `size` bytes, in chunks as they arrive.

    `answers` say what a status means to the reader.

    Raises:
        Interrupted: the connection broke off, or the server is busy.
        CheckpointError: the server refuses, or offers other bytes than these.
    """
    asked = {"Range": f"bytes={span.start}-{span.stop - 1}", "Accept-Encoding": "identity"}
    request = {"headers": headers | asked, "timeout": TIMEOUT_SECONDS, "follow_redirects": True}
    try:
        with get_session().stream("GET", url, **request) as response:
            _check(response, span, size, answers)
            yield from response.iter_raw()
    except (httpx.RequestError, RuntimeError) as error:  # or another thread closed the client
        reason = Phrase("broke_off", kind=type(error).__name__, error=str(error))
        raise Interrupted(reason) from None


def _check(response: Any, span: Span, size: int, answers: Mapping[int, Phrase]) -> None:
    """Raise unless `response` brings exactly the bytes of `span`."""
    status, headers = response.status_code, response.headers
    wanted = f"bytes {span.start}-{span.stop - 1}/{size}"
    if status in BUSY:
        after = headers.get("Retry-After", "").strip()  # a date there counts as no wish
        seconds = float(after) if after.isdecimal() else 0.0
        raise Interrupted(Phrase("server_busy", file=span.file, status=status), seconds)
    if status == 200 and span.n_bytes < size:
        raise CheckpointError("ignores_ranges", file=span.file, wanted=wanted)
    if status not in (200, 206):
        meaning = answers.get(status, OTHER_ANSWER)
        raise CheckpointError("answers", file=span.file, status=status, meaning=meaning)
    given = headers.get("Content-Range", "").strip() if status == 206 else wanted
    if given != wanted:
        raise CheckpointError("other_range", file=span.file, wanted=wanted, given=given)
    length = headers.get("Content-Length", str(span.n_bytes))
    encoding = headers.get("Content-Encoding", "identity")
    if length != str(span.n_bytes) or encoding != "identity":
        raise CheckpointError(
            "other_length", file=span.file, n_bytes=span.n_bytes, length=length, encoding=encoding
        )


class _Piece:
    """One span and its file."""

    def __init__(self, folder: Path, span: Span) -> None:
        self.span = span
        self.path = folder / quote(span.file, safe="") / f"{span.start}-{span.stop}"
        self._partial = self.path.with_name(f"{self.path.name}{PARTIAL}")

    def complete(self) -> bool:
        """Return whether nothing is left to be fetched."""
        return not self.span.n_bytes or _size(self.path) == self.span.n_bytes

    def rest(self) -> Span | None:
        """Return what is still to be fetched; files of a wrong length are removed."""
        if self.complete():
            return None
        if self.path.exists():
            self.path.unlink()
        held = _size(self._partial)
        if held >= self.span.n_bytes:  # its last byte was written, but it was not renamed
            self._partial.unlink()
            held = 0
        return Span(self.span.file, self.span.start + held, self.span.stop)

    def append(self, parts: Iterator[memoryview], report: Report) -> None:
        """Write the rest, and give the piece its name when it is complete."""
        with unreadable(Phrase("kept_copy", file=self.span.file)):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._partial.open("ab") as file:
                for part in parts:
                    file.write(part)
                    report(len(part))
            self._partial.replace(self.path)

    def load(self) -> bytearray:
        """Return its bytes."""
        if not self.complete():
            raise CheckpointError("changed", path=self.span.file)
        if not self.span.n_bytes:
            return bytearray()
        return read_span(self.path, Span(self.span.file, 0, self.span.n_bytes), lambda _: None)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def piece_sizes(folder: Path, spans: Iterable[Span]) -> dict[Path, int]:
    """Return the files of the spans in `folder`, which are there or will be, with their sizes."""
    return {_Piece(folder, span).path: span.n_bytes for span in spans}


def load_pieces(folder: Path, spans: Iterable[Span]) -> list[bytearray]:
    """Return the bytes of spans that were fetched."""
    with unreadable(KEPT):
        return [_Piece(folder, span).load() for span in spans]


def fetch_pieces(
    folder: Path, spans: Sequence[Span], stream: Stream, report: Report, reserve: Report
) -> None:
    """Let `stream` bring the spans that `folder` does not hold yet, once `reserve` found room.

    `report` gets byte counts and may raise: what has arrived by then is kept.

    Raises:
        CheckpointError: the server refuses, or broke off `TRIES` times in a row.
    """
    pieces = [_Piece(folder, span) for span in spans]
    total = sum(piece.span.n_bytes for piece in pieces)
    with ExitStack() as stack:
        with unreadable(KEPT):
            if not all(piece.complete() for piece in pieces):
                stack.enter_context(_only_writer(folder, report))
            rests = {rest: piece for piece in pieces if (rest := piece.rest())}
        coming = sum(rest.n_bytes for rest in rests)
        if rests:
            reserve(coming)
        report(total - coming)
        _fetch([[rests[rest] for rest in group] for group in grouped(rests)], stream, report)


@contextmanager
def _only_writer(folder: Path, report: Report) -> Iterator[None]:
    """Wait for another reader of the same checkpoint, reporting nothing new meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(WeakFileLock(folder / LOCK, timeout=POLL_SECONDS))
                break
            except TimeoutError:
                report(0)
        yield


def grouped(spans: Iterable[Span]) -> list[list[Span]]:
    """Return the spans in order, those together that one request reads: small gaps are read over.

    The gaps of a group are at most 1/32 of its wanted bytes, and 64 KiB each.
    """
    groups: list[list[Span]] = []
    wanted = gaps = 0
    for span in sorted(spans):
        last = groups[-1][-1] if groups else Span("", 0, 0)
        gap, wanted = span.start - last.stop, wanted + span.n_bytes
        small = 0 <= gap <= MOST_GAP_BYTES and gaps + gap <= WASTE * wanted
        if last.file == span.file and small:
            groups[-1].append(span)
            gaps += gap
        else:
            groups.append([span])
            wanted, gaps = span.n_bytes, 0
    return groups


def _fetch(groups: list[list[_Piece]], stream: Stream, report: Report) -> None:
    """Fetch the groups side by side; `report` is called from the caller's own thread."""
    counts: queue.SimpleQueue[int] = queue.SimpleQueue()
    stop = threading.Event()
    with ThreadPoolExecutor(CONNECTIONS, THREADS) as pool:
        waiting = {pool.submit(_fetch_group, g, stream, counts.put, stop) for g in groups}
        try:
            while waiting:
                done, waiting = wait(waiting, POLL_SECONDS, FIRST_COMPLETED)
                report(sum(counts.get() for _ in range(counts.qsize())))
                for future in done:
                    future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _fetch_group(group: list[_Piece], stream: Stream, count: Report, stop: threading.Event) -> None:
    tries = fetched = 0

    def report(n_bytes: int) -> None:
        nonlocal fetched
        fetched += n_bytes
        count(n_bytes)
        if stop.is_set():
            raise _StoppedError

    while pieces := [piece for piece in group if not piece.complete()]:
        try:
            _transfer(pieces, stream, report)
        except Interrupted as error:
            tries, fetched = 1 if fetched >= PROGRESS_BYTES else tries + 1, 0
            if stop.wait(_pause(error, tries)):
                raise _StoppedError from None


def _pause(error: Interrupted, tries: int) -> float:
    """Return the seconds to wait before the next try; CheckpointError where there is none."""
    if tries >= TRIES:
        raise CheckpointError("given_up", tries=tries, reason=error.reason) from None
    if error.after_seconds > MOST_WAIT_SECONDS:
        raise CheckpointError("busy", reason=error.reason, seconds=error.after_seconds) from None
    return max(error.after_seconds, WAIT_SECONDS * 2 ** (tries - 1))


def _transfer(pieces: list[_Piece], stream: Stream, report: Report) -> None:
    """Read what the pieces lack in one request, dropping what lies between them."""
    rests = [piece.rest() for piece in pieces]
    whole = Span(rests[0].file, rests[0].start, rests[-1].stop)
    position = whole.start
    with closing(stream(whole)) as chunks:
        tape = _Tape(chunks)
        for piece, rest in zip(pieces, rests, strict=True):
            for _ in tape.take(rest.start - position):
                pass
            piece.append(tape.take(rest.n_bytes), report)
            position = rest.stop


class _Tape:
    """Chunks of any length, handed out in the lengths asked for."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._left = chunks, memoryview(b"")

    def take(self, n_bytes: int) -> Iterator[memoryview]:
        """Yield the next `n_bytes`, in the parts in which they come."""
        while n_bytes:
            if not self._left:
                if (chunk := next(self._chunks, None)) is None:
                    raise Interrupted(Phrase("sent_less"))
                self._left = memoryview(chunk)
            part, self._left = self._left[:n_bytes], self._left[n_bytes:]
            n_bytes -= len(part)
            yield part
