"""Streamlit's own scripts and styles, compressed: a third of the bytes that a first visit takes.

Streamlit sends them as they lie on the disk. Each is compressed once, when it is first asked for:
there are few, and their names change with their contents.
"""

import asyncio
import gzip
import re
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FILE = re.compile(r"/static/(?:js|css|media)/[\w.-]+\.(?:js|css)$", re.ASCII)
LEVEL = 6  # above it bytes hardly shrink


@dataclass
class Answer:
    """What comes from Streamlit, held until it is whole."""

    start: Message = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)

    async def take(self, message: Message) -> None:
        """In the place of `send`."""
        if message["type"] == "http.response.start":
            self.start = message
        else:
            self.parts.append(message.get("body", b""))

    async def give(self, send: Send) -> None:
        """Send it."""
        await send(self.start)
        await send({"type": "http.response.body", "body": b"".join(self.parts)})


class Compressed:
    """Answers with what is compressed, where the browser takes it and asks for the whole file."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._made: dict[str, Answer] = {}  # by the names of files that there are

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        name = _asked(scope)
        if not name:
            await self._app(scope, receive, send)
            return
        known = self._made.get(name)
        if not known or "if-none-match" in Headers(scope=scope):
            answer = Answer()
            await self._app(scope, receive, answer.take)
            if not _is_file(answer.start):
                await answer.give(send)
                return
            known = self._made[name] = await asyncio.to_thread(_compressed, answer)
        await known.give(send)


def _asked(scope: Scope) -> str:
    """The file that is asked for; empty for whatever is not sent compressed."""
    found = FILE.search(scope["path"]) if scope.get("method") == "GET" else None
    if not found:
        return ""
    headers = Headers(scope=scope)
    takes = "gzip" in headers.get("accept-encoding", "") and "range" not in headers
    return found[0] if takes else ""


def _is_file(start: Message) -> bool:
    """Whether it is a script or a style: for a name that there is not, Streamlit sends its page."""
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] == 200 and not kind.startswith("text/html")


def _compressed(answer: Answer) -> Answer:
    body = gzip.compress(b"".join(answer.parts), LEVEL, mtime=0)
    start = answer.start | {"headers": list(answer.start["headers"])}
    headers = MutableHeaders(scope=start)
    headers["content-encoding"], headers["content-length"] = "gzip", str(len(body))
    headers.add_vary_header("accept-encoding")
    if "etag" in headers:  # the same contents, not the same bytes
        headers["etag"] = f"W/{headers['etag'].removeprefix('W/')}"
    return Answer(start, [body])
