"""An address without a page leads to the overview, which says so in the visitor's language.

Streamlit would open a dialog about folders of the server, in English.
"""

from urllib.parse import parse_qsl, quote, urlencode

import streamlit as st
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.settings.address import ASKED
from ui.settings.page import HOME
from ui.settings.rooms import PAGES

LONGEST = 40  # characters of a name that is repeated


class UnknownPages:
    """Sends a browser that asks for a page that there is not to the overview."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lead on, or hand on to Streamlit."""
        if scope["type"] == "http" and (way := _way(scope)):
            headers = [(b"location", way.encode("ascii")), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 307, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)


def _way(scope: Scope) -> str:
    """Where the browser is to go, beside the address that it asked for; empty if it is right."""
    if "text/html" not in Headers(scope=scope).get("accept", ""):
        return ""
    base = st.get_option("server.baseUrlPath").strip("/")
    path = scope["path"].removeprefix(f"/{base}" if base else "").removeprefix("/")
    name = path.rstrip("/").rpartition("/")[2]
    if not name or path in PAGES.keys() - {HOME} or path.startswith("_") or "." in name:
        return ""
    asked = [] if path == HOME else [(ASKED, name[:LONGEST])]
    given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query = urlencode(given + asked, quote_via=quote)
    return ("../" * path.count("/") or "./") + (f"?{query}" if query else "")
