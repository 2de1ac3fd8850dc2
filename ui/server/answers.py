"""Small answers of our own: headers for all answers, unknown pages, a text in Streamlit's place."""

from contextlib import suppress
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.settings.address import ASKED
from ui.settings.page import FORMER_PAGES, HOME, PAGES
from ui.settings.parsers import panel
from ui.settings.server import server
from ui.settings.shared import LANGUAGES

PLAIN, HTML = "text/plain; charset=utf-8", "text/html; charset=utf-8"
LONGEST = 40  # characters of an unknown page's name that are repeated
POLICY = {  # of the contents: Streamlit's styles and scripts stand in the page in part
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' ws: wss:",  # some browsers do not count a socket as 'self'
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def is_page(scope: Scope) -> bool:
    """Tell whether a browser asks for a page of the app, not for a file."""
    accepted = Headers(scope=scope).get("accept", "") if scope["type"] == "http" else ""
    return scope.get("method") == "GET" and "text/html" in accepted


def language(scope: Scope) -> str:
    """Return the language of the link, or of the browser."""
    asked = parse_qs(scope["query_string"].decode("latin-1")).get("lang", [""])[0]
    browsers = Headers(scope=scope).get("accept-language", "")[:2].lower()
    return next((one for one in (asked, browsers) if one in LANGUAGES), "en")


async def answer(
    send: Send, status: int, text: str, *, kind: str = "http.response", content: str = PLAIN
) -> None:
    """Send a short text; the request's body stays unread.

    Args:
        send: of ASGI.
        status: of the answer.
        text: its body.
        kind: of the messages; "websocket.http.response" refuses a websocket.
        content: the type of the body.
    """
    body = text.encode()
    headers = [
        (b"content-type", content.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-cache"),
    ]
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})


class SecurityHeaders:
    """Adds headers to every answer, also to refusals: what a browser may do with a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        around = " ".join(("'self'", *server().frame_ancestors))
        policy = POLICY | {"frame-ancestors": around}
        self._headers = HEADERS | {
            "content-security-policy": "; ".join(map(" ".join, policy.items()))
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and add them to what comes back; a socket's messages have none."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, with_headers)


class UnknownPages:
    """Sends a browser that asks for a page's former name to that page, with all settings.

    One that asks for an unknown page is sent to the overview, which says so.

    One that asks for a panel goes to the panel's page.

    Streamlit would open a dialog about folders of the server, in English.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Redirect, or hand on to Streamlit."""
        if scope["type"] == "http" and (location := _location(scope)):
            headers = [(b"location", location.encode("ascii")), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 307, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)


def _location(scope: Scope) -> str:
    """Return where the browser is to go, relative to where it asked; "" if that is right."""
    if "text/html" not in Headers(scope=scope).get("accept", ""):
        return ""
    base = st.get_option("server.baseUrlPath").strip("/")
    path = scope["path"].removeprefix(f"/{base}" if base else "").removeprefix("/")
    name = path.rstrip("/").rpartition("/")[2]
    given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if not name and (page := _page_of(dict(given).get("panel", ""))):
        return f"./{page}?{urlencode(given, quote_via=quote)}"
    if not name or path in PAGES.keys() - {HOME} or path.startswith("_") or "." in name:
        return ""
    page = FORMER_PAGES.get(path.rstrip("/"), "")
    asked = [] if page or path == HOME else [(ASKED, name[:LONGEST])]
    query = urlencode(given + asked, quote_via=quote)
    return ("../" * path.count("/") or "./") + page + (f"?{query}" if query else "")


def _page_of(name: str) -> str:
    """Return the page of a panel or of the nearest one; "" for none, and for the overview."""
    with suppress(ValueError):
        page = panel(name).partition(".")[0]
        return "" if page == HOME else page
    return ""
