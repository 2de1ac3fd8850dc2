"""The socket of a follower's page: news of the room as text, and the lecturer's page as bytes."""

import asyncio
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import orjson
from starlette.types import Receive, Send

from ui.classroom.store import ClassError
from ui.server.classes.drawing import Asked, Drawing
from ui.server.classes.watch import BEAT, News, Watch
from ui.settings.page import SETTINGS
from ui.settings.shared import CARRIED, LANGUAGES

LONGEST = 4000  # characters of what a page says of itself
NAME = 40  # of a drawing's name
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


@dataclass(eq=False)
class Ears:
    """Hears a socket: that it has gone, and what the page shows where it asks again."""

    receive: Receive
    gone: bool = False
    shows: str | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        """Hear until the browser goes."""
        while not self.gone:
            message = await self.receive()
            self.gone = message["type"] == "websocket.disconnect"
            self.shows = self.shows if self.gone else str(message.get("text"))[:NAME]
            self.woken.set()


async def follow(watch: Watch, name: str, said: Hello, receive: Receive, send: Send) -> None:
    """Send what changes, until the browser goes.

    Each news says which place is to be shown, each page which one it shows: the browser says that
    it is behind as long as they differ, and asks again, by the name of what it has.

    Raises:
        ClassError: "no_room".
    """
    ears, kind = Ears(receive), (said.lang, said.root, said.own)
    listening = asyncio.create_task(ears.listen())
    told: tuple[News, str] = News(), ""
    shown: Drawing | None = None
    shows, number = said.shows, watch.number  # of the last drawing that has been looked at
    try:
        while not ears.gone:
            if watch.room is None:
                raise ClassError("no_room", code=watch.code)
            changed, news = watch.changed[False], watch.news[False]
            wanted = _asked(watch, said)
            watch.want(ears, kind, None if shown and shown.asked == wanted else wanted)
            place = wanted.place if wanted else ""
            if watch.away:
                await refuse(send, "away")
                told = News(), ""
            elif (news, place) != told:
                await _say(send, text=f'{news.body.decode()[:-1]},"place":"{place}"}}')
                told = news, place
            if ears.shows is not None:
                if not shown or ears.shows != shown.name:  # what was sent has not come
                    shows, shown = ears.shows, None
                ears.shows = None
            drawn = watch.drawn(wanted) if wanted else None
            newest, passed = watch.newest.get(kind, (0, None))
            if not drawn and newest > number:  # of a step that has passed: the lecture goes on
                drawn = passed
            if drawn and drawn is not shown:
                before, shown = shown, drawn
                number = newest if drawn is passed else watch.number
                if before or shown.name != shows:
                    await _say(send, bytes=shown.after(before))
                continue
            if not watch.room.ended:
                watch.present.add(name)
            if changed.is_set() or ears.woken.is_set():
                ears.woken.clear()
                continue
            if not await _woken(changed, ears.woken):
                await _say(send, text="{}")  # the line is alive
            watch.asked_at = time.monotonic()
    finally:
        listening.cancel()
        watch.leave(ears)


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


async def _woken(*events: asyncio.Event) -> bool:
    """Wait until one of them is set; return whether one was within a beat."""
    waits = {asyncio.create_task(event.wait()) for event in events}
    done, _ = await asyncio.wait(waits, timeout=BEAT, return_when=asyncio.FIRST_COMPLETED)
    for one in waits:
        one.cancel()
    return bool(done)
