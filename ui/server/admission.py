"""No more visitors than the operator allows; the next wait on a page that costs next to nothing.

The page says the place in line, and opens the app by itself. A visitor is known by a cookie, which
keeps the place, and the seat of who loads a page again or loses the connection. One without it is
let in where nobody waits, and takes a seat for each connection.
"""

import html
import json
import time
from collections import Counter
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe
from string import Template

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui import asset
from ui.engine.job_owner import COOKIE
from ui.server.answers import HTML, answer, is_page, language
from ui.settings.server import server
from ui.settings.shared import TAGS
from ui.words.numbers import count
from ui.words.text import catalogue

TRY_LATER = 1013
PLACE = "/_place"  # where the waiting page asks
LONGEST = 64  # characters of a token; ours have 22
NOBODY = ""  # whoever has no token
COMING_SECONDS = 30.0  # from being let in until the page has connected
AWAY_SECONDS = 20.0  # from a lost connection until the seat is somebody else's
TABS = 4  # of a browser, that share its seat
LONGEST_LINE = 1000  # whose places are kept: of more the last is told
PATIENT_SECONDS = 15.0  # from a question for the place until who asked is taken to have left


class Seats:
    """Tells who is in, who waits in line, and whose seat is reserved for a while.

    There are as many as `most` says at the time.
    """

    def __init__(
        self, most: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._clock = most, clock
        self._connections: Counter[str] = Counter()
        self._reserved: dict[str, float] = {}  # until when, of those who have no connection now
        self._line: dict[str, float] = {}  # until when, in the order of arrival

    @property
    def taken(self) -> int:
        """Return how many are taken, those that are reserved among them."""
        nobodys = self._connections[NOBODY]
        return len(self._connections) - bool(nobodys) + nobodys + len(self._reserved)

    @property
    def waiting(self) -> int:
        """Return how many stand in line."""
        return len(self._line)

    def ask(self, visitor: str) -> int:
        """Return the place in line, from 1; 0 for who is in, whose seat is reserved meanwhile."""
        self._tidy()
        if visitor in self._connections:
            return 0
        if visitor in self._reserved or self._is_next(visitor):
            self._line.pop(visitor, None)
            self._reserved[visitor] = self._clock() + COMING_SECONDS
            return 0
        if visitor not in self._line and self.waiting >= LONGEST_LINE:
            return self.waiting + 1
        self._line[visitor] = self._clock() + PATIENT_SECONDS
        return list(self._line).index(visitor) + 1

    def connect(self, visitor: str) -> bool:
        """Take a seat for a connection; return whether there was one."""
        self._tidy()
        tabs = 0 if visitor == NOBODY else self._connections[visitor]
        its_own = self._reserved.pop(visitor, None) is not None or 0 < tabs < TABS
        if not its_own and self.taken + self.waiting >= self._most():
            return False
        self._connections[visitor] += 1
        return True

    def leave(self, visitor: str) -> None:
        """Note that a connection has ended; who is known may come back."""
        self._connections -= Counter({visitor: 1})  # what is 0 goes
        if visitor != NOBODY and visitor not in self._connections:
            self._reserved[visitor] = self._clock() + AWAY_SECONDS

    def _is_next(self, visitor: str) -> bool:
        line = list(self._line)
        ahead = line.index(visitor) if visitor in self._line else len(line)
        return self.taken + ahead < self._most()

    def _tidy(self) -> None:
        now = self._clock()
        self._reserved = {who: end for who, end in self._reserved.items() if end > now}
        self._line = {who: end for who, end in self._line.items() if end > now}


class Admission:
    """Counts connections, and answers in the app's place while every seat is taken."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._seats = Seats(_seats)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, or ask to wait."""
        if scope["type"] == "websocket":
            await self._connected(scope, receive, send)
        elif scope["type"] == "http" and (is_page(scope) or scope["path"].endswith(PLACE)):
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
        send = _with_cookie(send, visitor, scope)
        if scope["path"].endswith(PLACE):
            await answer(send, 200, json.dumps({"place": place}))
        elif place:
            await answer(send, 200, _page(scope, place), content=HTML)  # a proxy keeps a 503
        else:
            await self._app(scope, receive, send)


def _token(scope: Scope) -> str:
    """Return the token of who asks; NOBODY for who has no cookie of ours."""
    try:
        found = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(COOKIE)
    except CookieError:
        return NOBODY
    return found.value[:LONGEST] if found else NOBODY


def _with_cookie(send: Send, visitor: str, scope: Scope) -> Send:
    """Return what sends an answer with the cookie, which works in another site's frame too."""
    secure = Headers(scope=scope).get("x-forwarded-proto", scope["scheme"]) == "https"
    where = "SameSite=None; Secure; Partitioned" if secure else "SameSite=Lax"
    cookie = f"{COOKIE}={visitor}; Path=/; HttpOnly; {where}".encode("latin-1", "ignore")

    async def with_cookie(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"set-cookie", cookie)]
        await send(message)

    return with_cookie


def _page(scope: Scope, place: int) -> str:
    """Return the waiting page, in the language of the link or of the browser."""
    lang = language(scope)

    def say(key: str) -> str:
        return catalogue()[f"waiting.{key}"][lang]

    told: dict[str, Callable[[], str] | str] = {
        "lang": TAGS[lang],
        "title": html.escape(say("title")),
        "says": html.escape(say("says").format(most=count(_seats()))),
        "place": html.escape(say("place").format(place=count(place))),
        "will": html.escape(say("will")),
        "words": json.dumps(say("place")),
    }
    return Template(asset("waiting.html")).substitute(told)


def _seats() -> int:
    """Return how many seats this process has."""
    return server().share(server().most_visitors)
