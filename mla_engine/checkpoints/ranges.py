"""One byte range of a file over HTTP (RFC 9110).

Only exactly the bytes asked for are taken. A server that ignores ranges is refused before its body
is read, so that no whole file is read in silence.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from huggingface_hub.constants import HF_HUB_DOWNLOAD_TIMEOUT
from huggingface_hub.utils import get_session, httpx

from mla_engine.checkpoints.errors import CheckpointError, Interrupted
from mla_engine.checkpoints.spans import Span
from mla_engine.refusals import Phrase

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


def stream(
    url: str,
    headers: dict[str, str],
    span: Span,
    size: int,
    answers: Mapping[int, Phrase] = ANSWERS,
) -> Iterator[bytes]:
    """The bytes of `span`, of a file of `size` bytes, in chunks as they arrive.

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
        busy = Phrase("server_busy", file=span.file, status=status)
        raise Interrupted(busy, _seconds(headers))
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


def _seconds(headers: Any) -> float:
    """Retry-After in seconds; a date there counts as no wish."""
    text = headers.get("Retry-After", "").strip()
    return float(text) if text.isdecimal() else 0.0
