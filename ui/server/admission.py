"""No more visitors than the operator allows; the next wait on a page that costs next to nothing.

It says the place in line, and opens the app by itself. A cookie keeps the place, and the seat of
who loads a page again or loses the connection.
"""

import html
import json
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe
from string import Template
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui import asset
from ui.engine.job_owner import COOKIE
from ui.server.answer import answer
from ui.server.seats import Seats
from ui.settings.server import server
from ui.settings.shared import LANGUAGES
from ui.words.numbers import count
from ui.words.text import catalogue

TRY_LATER = 1013
HTML = "text/html; charset=utf-8"
PLACE = "/_place"  # where the waiting page asks
LONGEST = 64  # characters of a token; ours have 22


class Admission:
    """Counts connections, and answers in the app's place while every seat is taken."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._seats = Seats(_seats)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, or ask to wait."""
        if scope["type"] == "websocket":
            await self._connected(scope, receive, send)
        elif scope["type"] == "http" and (_is_page(scope) or scope["path"].endswith(PLACE)):
            await self._asked(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _connected(self, scope: Scope, receive: Receive, send: Send) -> None:
        visitor = _token(scope)
        if not self._seats.connect(visitor):
            await send({"type": "websocket.close", "code": TRY_LATER})
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._seats.leave(visitor)

    async def _asked(self, scope: Scope, receive: Receive, send: Send) -> None:
        visitor = _token(scope) or token_urlsafe(16)
        place = self._seats.ask(visitor)
        send = _known(send, visitor, scope)
        if scope["path"].endswith(PLACE):
            await answer(send, 200, json.dumps({"place": place}))
        elif place:
            await answer(send, 200, _page(scope, place), content=HTML)  # a proxy keeps a 503
        else:
            await self._app(scope, receive, send)


def _is_page(scope: Scope) -> bool:
    """Whether a browser asks for a page of the app, not for a file."""
    accepted = Headers(scope=scope).get("accept", "")
    return scope.get("method") == "GET" and "text/html" in accepted


def _token(scope: Scope) -> str:
    """Who asks; empty for who has no cookie of ours."""
    try:
        found = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value[:LONGEST] if found else ""


def _known(send: Send, visitor: str, scope: Scope) -> Send:
    """Hands on what comes back with a cookie, which stands in another site's frame too."""
    secure = Headers(scope=scope).get("x-forwarded-proto", scope["scheme"]) == "https"
    where = "SameSite=None; Secure; Partitioned" if secure else "SameSite=Lax"
    cookie = f"{COOKIE}={visitor}; Path=/; HttpOnly; {where}".encode("latin-1", "ignore")

    async def known(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"set-cookie", cookie)]
        await send(message)

    return known


def _page(scope: Scope, place: int) -> str:
    """The waiting page, in the language of the link or of the browser."""
    asked = parse_qs(scope["query_string"].decode("latin-1")).get("lang", [""])[0]
    browsers = Headers(scope=scope).get("accept-language", "")[:2].lower()
    lang = next((one for one in (asked, browsers) if one in LANGUAGES), "en")

    def say(key: str) -> str:
        return catalogue()[f"waiting.{key}"][lang]

    told: dict[str, Callable[[], str] | str] = {
        "lang": lang,
        "title": html.escape(say("title")),
        "says": html.escape(say("says").format(most=count(_seats()))),
        "place": html.escape(say("place").format(place=count(place))),
        "will": html.escape(say("will")),
        "words": json.dumps(say("place")),
    }
    return Template(asset("waiting.html")).substitute(told)


def _seats() -> int:
    """Of this process."""
    return server().share(server().most_visitors)
