"""One byte range of a file over HTTP (RFC 9110).

Only exactly the bytes asked for are taken. A server that ignores ranges is refused before its body
is read, so that no whole file is read in silence.
"""

from collections.abc import Iterator
from typing import Any

from huggingface_hub.constants import HF_HUB_DOWNLOAD_TIMEOUT
from huggingface_hub.utils import get_session, httpx

from mla_engine.checkpoints.errors import CheckpointError, Interrupted
from mla_engine.checkpoints.spans import Span

TIMEOUT_SECONDS = HF_HUB_DOWNLOAD_TIMEOUT  # without a byte
BUSY = (408, 429, 500, 502, 503, 504)
ANSWERS = {
    401: "so it wants an access token: set HF_TOKEN",
    403: "so access is refused: ask for it on the model's page, then set HF_TOKEN",
    404: "so there is no such file",
    416: "so the file has no such bytes",
    429: "so there were too many requests: wait a while",
}
OTHER_ANSWER = "which is not understood"


def stream(url: str, headers: dict[str, str], span: Span, size: int) -> Iterator[bytes]:
    """The bytes of `span`, of a file of `size` bytes, in chunks as they arrive.

    Raises:
        Interrupted: the connection broke off, or the server is busy.
        CheckpointError: the server refuses, or offers other bytes than these.
    """
    asked = {"Range": f"bytes={span.start}-{span.stop - 1}", "Accept-Encoding": "identity"}
    request = {"headers": headers | asked, "timeout": TIMEOUT_SECONDS, "follow_redirects": True}
    try:
        with get_session().stream("GET", url, **request) as response:
            _check(response, span, size)
            yield from response.iter_raw()
    except (httpx.RequestError, RuntimeError) as error:  # or another thread closed the client
        raise Interrupted(f"{type(error).__name__} ({error!s:.120})") from None


def _check(response: Any, span: Span, size: int) -> None:
    """Raise unless `response` brings exactly the bytes of `span`."""
    status, headers = response.status_code, response.headers
    wanted = f"bytes {span.start}-{span.stop - 1}/{size}"
    if status in BUSY:
        raise Interrupted(f"{span.file}: the server answers {status}", _seconds(headers))
    if status == 200 and span.n_bytes < size:
        raise CheckpointError(
            f"{span.file}: the server ignores byte ranges and would send the whole file for "
            f"{wanted}; download the model by other means and give its folder"
        )
    if status not in (200, 206):
        meaning = ANSWERS.get(status, OTHER_ANSWER)
        raise CheckpointError(f"{span.file}: the server answers {status}, {meaning}")
    given = headers.get("Content-Range", "").strip() if status == 206 else wanted
    if given != wanted:
        raise CheckpointError(f"{span.file}: asked for {wanted}, the server sends {given!r:.60}")
    length = headers.get("Content-Length", str(span.n_bytes))
    encoding = headers.get("Content-Encoding", "identity")
    if length != str(span.n_bytes) or encoding != "identity":
        raise CheckpointError(
            f"{span.file}: asked for {span.n_bytes} bytes, the server sends {length:.20} "
            f"({encoding:.20})"
        )


def _seconds(headers: Any) -> float:
    """Retry-After in seconds; a date there counts as no wish."""
    text = headers.get("Retry-After", "").strip()
    return float(text) if text.isdecimal() else 0.0
