"""The socket of a follower's page: news of the room as text, and the lecturer's page as bytes."""

import asyncio
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson
from starlette.types import Receive, Send

from ui.classroom.store import ClassError
from ui.server.classes.drawing import Asked, Drawing
from ui.server.classes.watch import WAIT, News, Watch
from ui.settings.rooms import SETTINGS
from ui.settings.shared import CARRIED, LANGUAGES

LONGEST = 4000  # characters of what a page says of itself
OWN = "lang", *CARRIED  # settings of a follower's address that are the reader's own


@dataclass(frozen=True)
class Hello:
    """The page of a follower, as it says.

    Args:
        token: by which the follower is known.
        lang: of the browser.
        root: the app's address, as the browser has it.
        own: the settings of its address that are the reader's own.
        shows: the name of the drawing that it shows.
    """

    token: str
    lang: str
    root: str
    own: tuple[tuple[str, str], ...]
    shows: str


def read_hello(text: object) -> Hello:
    """Return what a page says of itself.

    Raises:
        ClassError: "garbled".
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ClassError("garbled")
    try:
        said = orjson.loads(text)
        names = "token", "lang", "root", "shows"
        token, lang, root, shows = (str(said[name]) for name in names)
        own = tuple((name, str(said["own"][name])) for name in OWN if name in said["own"])
        for name, value in own:
            SETTINGS[name].parse(value)
        scheme = urlsplit(root).scheme
    except (ValueError, KeyError, TypeError) as error:
        raise ClassError("garbled") from error
    if scheme not in ("http", "https"):
        raise ClassError("garbled")
    lang = lang[:2] if lang[:2] in LANGUAGES else "en"
    return Hello(token, lang, root.rstrip("/"), own, shows)


async def follow(watch: Watch, name: str, said: Hello, receive: Receive, send: Send) -> None:
    """Send what changes, until the browser goes.

    Raises:
        ClassError: "no_room".
    """
    gone = asyncio.create_task(_left(receive))
    told = News()
    drawn: asyncio.Task[Drawing] | None = None
    shown: Drawing | None = None
    try:
        while not gone.done():
            if watch.room is None:
                raise ClassError("no_room", code=watch.code)
            woken, news = watch.changed[False], watch.news[False]
            if watch.away:
                await refuse(send, "away")
                told = News()
            elif news != told:
                await _say(send, text=news.body.decode())
                told = news
            wanted = _asked(watch, said)
            if wanted and not (shown and shown.asked == wanted):
                drawn = watch.drawing(wanted)
            if drawn and drawn.done() and not drawn.exception() and drawn.result() is not shown:
                before, shown = shown, drawn.result()
                if before or shown.name != said.shows:
                    await _say(send, bytes=shown.after(before))
                continue
            if not watch.room.ended:
                watch.present.add(name)
            if woken.is_set():
                continue
            if not await _woken(woken, gone):
                await _say(send, text="{}")  # the line is alive
            watch.asked_at = time.monotonic()
    finally:
        gone.cancel()


async def refuse(send: Send, why: str) -> None:
    """Say why nothing comes."""
    await _say(send, text=orjson.dumps({"refused": why}).decode())


async def _say(send: Send, **said: object) -> None:
    await send({"type": "websocket.send", **said})


def _asked(watch: Watch, said: Hello) -> Asked | None:
    """Return what this browser is to show; None before the lecturer is anywhere."""
    if "here" not in watch.room.told:
        return None
    here = orjson.loads(watch.room.told["here"])
    query = tuple((here["query"] | dict(said.own) | {"room": watch.code}).items())
    return Asked(here["page"], query, said.lang, said.root, watch.moment)


async def _woken(woken: asyncio.Event, gone: asyncio.Task) -> bool:
    waits = asyncio.create_task(woken.wait())
    done, _ = await asyncio.wait({waits, gone}, timeout=WAIT, return_when=asyncio.FIRST_COMPLETED)
    waits.cancel()
    return bool(done)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "websocket.disconnect":
        pass
