"""Uploads are taken where a page asks for them, and no more than its visitors may keep."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import config, runtime

from ui.frame import uploads
from ui.server.answer import answer
from ui.settings.server import server

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
        """The status and why; None where it may come."""
        if not uploads.allowed(session):
            return 403, "the page that this visitor sees takes no files"
        if not length.isdecimal():
            return 411, "say how long the file is"
        largest = config.get_option("server.maxUploadSize") * MIB
        kept = _kept()
        files = len(kept.get(session, ())) + self._files[session]
        own = sum(kept.get(session, ())) + self._bytes[session] + int(length)
        every = sum(map(sum, kept.values())) + self._bytes.total() + int(length)
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


def _kept() -> Mapping[str, list[int]]:
    """The sizes of the files that Streamlit keeps of each session."""
    storage = runtime.get_instance().uploaded_file_mgr.file_storage
    return {
        session: [len(file.data) for file in list(files.values())]
        for session, files in list(storage.items())
    }
