"""Uploads: taken only where a page asks for them, and within bounds for each and for all."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.frame.page import takes_uploads
from ui.server.answers import answer
from ui.settings.server import server
from ui.streamlit_internals import upload_sizes

PATH = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+$")
MIB = 2**20
MOST_FILES = 20  # of a session
AT_ONCE = 2  # files of the largest size of a session: one, and the one that takes its place
ALL_SESSIONS = 8  # files of the largest size that all sessions of the machine keep


class Uploads:
    """Refuses an upload before its body is read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._files: Counter[str] = Counter()  # under way, of each session
        self._bytes: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse it, or count it while it comes."""
        asked = PATH.search(scope["path"]) if scope.get("method") == "PUT" else None
        if not asked:
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        if refusal := self._refusal(session := asked[1], length):
            await answer(send, *refusal)
            return
        with self._coming(session, int(length)):
            await self._app(scope, receive, send)

    def _refusal(self, session: str, length: str) -> tuple[int, str] | None:
        """Return the status and why; None where it may come."""
        if not takes_uploads(session):
            return 403, "the page that this visitor sees takes no files"
        if not length.isdecimal():
            return 411, "say how long the file is"
        largest = st.get_option("server.maxUploadSize") * MIB
        held = upload_sizes()
        files = len(held.get(session, ())) + self._files[session]
        own = sum(held.get(session, ())) + self._bytes[session] + int(length)
        every = sum(map(sum, held.values())) + self._bytes.total() + int(length)
        most = max(AT_ONCE, server().share(ALL_SESSIONS)) * largest
        if files >= MOST_FILES or own > AT_ONCE * largest + MIB or every > most:
            return 413, "this visitor, or all together, keep too many files"
        return None

    @contextmanager
    def _coming(self, session: str, length: int) -> Iterator[None]:
        self._files[session] += 1
        self._bytes[session] += length
        try:
            yield
        finally:
            self._files -= Counter({session: 1})  # what is 0 goes
            self._bytes -= Counter({session: length})
