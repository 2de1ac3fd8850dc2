"""Answers to the browsers of a class, beside Streamlit, at /_class/<code>.

A follower's page has a socket (`following`), by which it joins and follows. GET waits for what is
new; POST to join, answer or lead does one thing. Followers show the token that they got when they
joined, the lecturer the key.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from secrets import token_hex
from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from kvcount.refusals import sentence
from ui.classroom import codes, questions, rooms
from ui.classroom.limits import Buckets, Rate, network
from ui.classroom.store import ClassError, Room
from ui.server.classes import following
from ui.server.classes.page import page
from ui.server.classes.watch import BEAT, WAIT, Hub, Watch, call
from ui.settings.address import LONGEST
from ui.settings.page import PAGES, SETTINGS
from ui.settings.server import server
from ui.settings.shared import LANGUAGES

PATH = re.compile(r"/_class/([^/]{1,40})(?:/(join|answer|lead|follow))?$")
STATUS = {
    "no_room": 404,
    "stranger": 401,
    "no_key": 403,
    "twice": 409,
    "closed": 409,
    "led": 409,
    "hurry": 429,
    "crowd": 429,
    "openings": 429,
    "away": 503,
    "room_full": 503,
    "rooms_full": 503,
    "address_full": 503,
    "address_rooms": 503,
}  # and of what cannot be read 400
WRONG_AT_ONCE, WRONG_A_SECOND = 60, 5  # codes, of an address at all processes of the machine
MOST_WAITING = 3  # requests and sockets of one browser at a time: tabs
SAME = 1000  # wrong codes that are remembered: who asks again and again for one guesses none
MOST_BYTES = 200_000  # of a message: a question in every language
NAME = 40  # characters of a question's name


class Limit:
    """Bounds the wrong codes of an address: so many at once, and so many a second.

    A campus shares one address.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._wrong = Buckets(rate, clock)
        self._same: OrderedDict[str, None] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Tell whether this address may try."""
        return self._wrong.allows(address)

    def count(self, address: str, code: str) -> None:
        """Count a wrong code, unless it was counted before: as after the end of a class."""
        if code in self._same:
            return
        self._same[code] = None
        if len(self._same) > SAME:
            self._same.popitem(last=False)
        self._wrong.spend(address)


class Classes:
    """Answers what is asked of a class room, or hands on to Streamlit."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._hub = Hub()
        share = server().share  # 30**8 codes: ages, at any address
        self._wrong = Limit(Rate(share(WRONG_AT_ONCE), share(WRONG_A_SECOND)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        asked = PATH.search(scope.get("path", ""))
        if scope["type"] == "websocket" and asked and asked[2] == "follow":
            await self._follow(asked[1], scope, receive, send)
            return
        if scope["type"] != "http" or not asked:
            await (page(scope) or self._app)(scope, receive, send)
            return
        try:
            status, body, tag = await self._answer(asked[1], asked[2], scope, receive)
        except ClassError as refusal:
            said = {lang: sentence(refusal, lang) for lang in LANGUAGES}
            status, tag = STATUS.get(refusal.code, 400), ""
            body = orjson.dumps({"refused": refusal.code, "said": said})
        await _send(send, status, body, tag)

    async def _answer(
        self, code: str, act: str | None, scope: Scope, receive: Receive
    ) -> tuple[int, bytes, str]:
        headers, address = Headers(scope=scope), _address(scope)
        method = scope["method"]
        if method == "GET" and act is None:
            return await self._news(code, headers, address)
        acts: Mapping[str, Callable[..., Awaitable[dict[str, Any]]]] = {
            "join": self._join,
            "answer": self._vote,
            "lead": self._lead,
        }
        if method != "POST" or act is None:
            raise ClassError("garbled")
        message = await read_body(receive)
        found = await acts[act](code, headers, address, message)
        return 200, orjson.dumps(found), ""

    async def _follow(self, code: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a socket follow, or say why not."""
        await receive()
        await send({"type": "websocket.accept"})
        try:
            said = following.read_hello((await receive()).get("text"))
            headers = Headers({"x-class-token": said.token})
            watch, name = await self._known(code, headers, _address(scope))
            with _waits(watch, name):
                await following.follow(watch, name, said, receive, send)
        except ClassError as refusal:
            await following.refuse(send, refusal.code)
            await send({"type": "websocket.close"})

    async def _news(self, code: str, headers: Headers, address: str) -> tuple[int, bytes, str]:
        """Return what is new, or nothing after a while."""
        watch, name = await self._known(code, headers, address)
        leads = not name
        with _waits(watch, name):
            changed = watch.changed[leads]
            if watch.news[leads].tag == headers.get("if-none-match") and not watch.away:
                await _within(BEAT if leads else WAIT, changed)
        _there(watch)
        news = watch.news[leads]
        watch.led = watch.led or leads
        if news.tag == headers.get("if-none-match"):
            return 304, b"", news.tag
        return 200, news.body, news.tag

    async def _join(self, code: str, _headers: Headers, address: str, _: object) -> dict[str, Any]:
        room = _there(await self._found(code, address))
        mark = codes.mark(address, room.lead.secret)
        await call(rooms.store().admit, code, mark)
        return {"token": codes.new_token(room.lead, mark)}

    async def _vote(self, code: str, headers: Headers, address: str, message: Any) -> dict:
        watch, name = await self._known(code, headers, address)
        room = _there(watch)
        asks, choice = read_vote(message, questions.answers(room) if room.asks else 0)
        await call(rooms.store().answer, code, asks, name, choice)
        return {"counted": choice}

    async def _lead(self, code: str, headers: Headers, address: str, message: Any) -> dict:
        """Do what the lecturer asks; a room that the store has lost comes back by it.

        One device of the lecturer's leads. Another one has to take the lead first.
        """
        key, device = headers.get("x-class-key", ""), read_name(headers.get("x-class-device", ""))
        watch = await self._led(code, key, address)
        store = rooms.store()
        await call(partial(store.lead, takes=message.get("takes") is True), code, device)
        if "here" in message:
            await call(store.tell, code, "here", read_place(message["here"]), device)
        if "put" in message:
            text = questions.opened(message["put"], message.get("seal"))
            await call(store.ask, code, token_hex(8), text)
        if "shown" in message:
            await call(store.show, code, read_name(message["shown"]))
        if message.get("dropped"):
            await call(store.ask, code, "", "")
        if message.get("ended"):
            await call(store.end, code)
        await self._hub.refresh(watch.code)
        return {}

    async def _found(self, code: str, address: str) -> Watch:
        """Return the room of a code; an address that has tried many wrong ones is refused."""
        if not self._wrong.allows(address):
            raise ClassError("hurry")
        watch = await self._hub.watch(code)
        if watch.room is None and not watch.away:
            self._wrong.count(address, code)
        return watch

    async def _known(self, code: str, headers: Headers, address: str) -> tuple[Watch, str]:
        """Return the room, and the name of the follower who asks, empty for its lecturer.

        Who is in the room is not held up by others who try codes at the same address.
        """
        key, token = headers.get("x-class-key", ""), headers.get("x-class-token", "")

        def is_in(room: Room | None) -> bool:
            good = room and (
                codes.is_key(key, room.lead) if key else codes.is_token(token, room.lead)
            )
            return bool(good)

        watch = self._hub.known(code)
        if not watch or not is_in(watch.room):
            watch = await self._found(code, address)
            if not is_in(_there(watch)):
                raise ClassError("no_key" if key else "stranger")
        name = "" if key else token.partition(".")[0]
        if name and not _there(watch).ended:
            await call(rooms.store().seat, code, name)
        return watch, name

    async def _led(self, code: str, key: str, address: str) -> Watch:
        """Return the room to its lecturer only; it is opened again where it was lost."""
        watch = self._hub.known(code) or await self._found(code, address)
        if watch.away:
            raise ClassError("away")
        if watch.room is None or watch.room.ended:
            if len(key) > codes.LONGEST or await asyncio.to_thread(codes.code_of, key) != code:
                raise ClassError("no_key")
            await call(rooms.take, code, key, address)
            return await self._hub.watch(code)
        if not codes.is_key(key, watch.room.lead):
            raise ClassError("no_key")
        return watch


def _address(scope: Scope) -> str:
    """Return whose limits count: uvicorn has put in who asks the proxies that it trusts."""
    return network((scope.get("client") or ("",))[0])


@contextmanager
def _waits(watch: Watch, name: str) -> Iterator[None]:
    """Count a request or socket of a browser while it waits.

    Raises:
        ClassError: "hurry", too many do.
    """
    watch.waiting[name] += 1
    try:
        if watch.waiting[name] > MOST_WAITING:
            raise ClassError("hurry")
        yield
    finally:
        watch.waiting -= type(watch.waiting)({name: 1})


def _there(watch: Watch) -> Room:
    """Return the room, as far as it is known.

    Raises:
        ClassError: "away", "no_room".
    """
    if watch.away:
        raise ClassError("away")
    if watch.room is None:
        raise ClassError("no_room", code=watch.code)
    return watch.room


async def _within(seconds: float, changed: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(changed.wait(), seconds)
    except TimeoutError:
        return


async def _send(send: Send, status: int, body: bytes, tag: str) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    if tag:
        headers.append((b"etag", tag.encode()))
    if status == 304:
        headers = headers[2:]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def read_body(receive: Receive) -> dict[str, Any]:
    """Return the body of a request.

    Raises:
        ClassError: "garbled".
    """
    body, more = b"", True
    while more:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise ClassError("garbled")
        body, more = body + part.get("body", b""), part.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise ClassError("garbled")
    try:
        message = orjson.loads(body or b"{}")
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ClassError("garbled")
    return message


def read_place(said: Any) -> str:
    """Return where a lecturer is, as text: a page of the app, and settings that others may have.

    Raises:
        ClassError: "garbled".
    """
    page, query = (said.get("page"), said.get("query")) if isinstance(said, dict) else (0, 0)
    known = isinstance(page, str) and page in PAGES and isinstance(query, dict)
    if not known or not all(_shared(*pair) for pair in query.items()):
        raise ClassError("garbled")
    if sum(len(name) + len(text) for name, text in query.items()) > LONGEST:
        raise ClassError("garbled")
    return orjson.dumps({"page": page, "query": query}).decode()


def _shared(setting: str, text: Any) -> bool:
    known = setting in SETTINGS and setting != "lang" and not SETTINGS[setting].personal
    return known and isinstance(text, str)


def read_vote(message: dict[str, Any], count: int) -> tuple[str, int]:
    """Return the name of the question, and which of its answers is given.

    Raises:
        ClassError: "closed", where no question stands; "no_choice"; "garbled".
    """
    asks, choice = read_name(message.get("question")), message.get("choice")
    if not count:
        raise ClassError("closed")
    if type(choice) is not int or not 0 <= choice < count:
        raise ClassError("no_choice", count=count, given=choice)
    return asks, choice


def read_name(said: Any) -> str:
    """Return the name of a question.

    Raises:
        ClassError: "garbled".
    """
    if not isinstance(said, str) or len(said) > NAME:
        raise ClassError("garbled")
    return said
