"""The class rooms that browsers of this process are in, each looked at once for all of them.

A browser waits for what is new. So a step costs each follower what is sent to it, and nothing while
the lecturer speaks.
"""

import asyncio
import hashlib
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import orjson

from ui.classroom import questions, rooms
from ui.classroom.store import ClassError, Room
from ui.server.classes.drawing import Asked, Drawing, draw

TICK = 0.2  # seconds between two looks
LATER = 1.0  # after what failed: a look at the store, a drawing
WAIT = 10.0  # seconds for which a browser waits for something new
UNWATCHED = 30.0  # seconds after the last browser has asked
HEARD = 5.0  # seconds between two notes of who is present
LEADER = 20.0  # seconds between two signs of the lecturer
KEPT = 16  # drawings: of a few steps, as browsers may still ask for their files
PASSES = 20.0  # seconds after which a page that would have run itself again is drawn again

Found = TypeVar("Found")
LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class News:
    """The answer to one kind of browser, and the tag of this state."""

    body: bytes = b""
    tag: str = ""


@dataclass
class Watch:
    """A room as this process last saw it.

    Args:
        code: of the room.
        room: None where there is none.
        away: whether the store could not be reached.
        news: for followers and for the lecturer.
        changed: tells them.
        present: followers who have asked since it was noted last.
        waiting: how many requests and sockets of each browser wait.
        drawings: of the last steps, for all who follow alike.
        moment: goes up when drawings are out of date.
    """

    code: str
    room: Room | None = None
    away: bool = False
    news: dict[bool, News] = field(default_factory=lambda: {False: News(), True: News()})
    changed: dict[bool, asyncio.Event] = field(
        default_factory=lambda: {False: asyncio.Event(), True: asyncio.Event()}
    )
    present: set[str] = field(default_factory=set)
    waiting: Counter[str] = field(default_factory=Counter)
    asked_at: float = 0.0
    heard_at: float = 0.0
    held_at: float = 0.0
    led: bool = False
    drawings: dict[Asked, asyncio.Task[Drawing]] = field(default_factory=dict)
    moment: int = 0

    def drawing(self, asked: Asked) -> asyncio.Task[Drawing]:
        """Return a drawing, begun now or by another follower; all are told when it is done."""
        if asked not in self.drawings:
            task = self.drawings[asked] = asyncio.create_task(draw(asked))
            task.add_done_callback(partial(self._drawn, asked))
            done = [one for one, task in self.drawings.items() if task.done()]
            for oldest in done[: max(0, len(self.drawings) - KEPT)]:
                del self.drawings[oldest]
        return self.drawings[asked]

    def _drawn(self, asked: Asked, task: asyncio.Task[Drawing]) -> None:
        self.tell(leads=False)
        if task.cancelled():
            return
        later = asyncio.get_running_loop().call_later
        if error := task.exception():
            LOG.error("a page of a class was not drawn: %s", asked.page, exc_info=error)
            later(LATER, self._draw_again, asked)
        elif task.result().passes:
            later(PASSES, self._renew, asked)

    def _draw_again(self, asked: Asked) -> None:
        self.drawings.pop(asked, None)
        self.tell(leads=False)  # who still wants it asks for it

    def _renew(self, asked: Asked) -> None:
        if asked.moment == self.moment:
            self.moment += 1
            self.tell(leads=False)

    def tell(self, *, leads: bool) -> None:
        """Wake who waits."""
        self.changed[leads].set()
        self.changed[leads] = asyncio.Event()

    def take(self, room: Room | None, *, away: bool = False) -> None:
        """Take in a new look at the room, and tell who waits for what changed."""
        if (room, away) == (self.room, self.away):
            return
        gone = (room is None) != (self.room is None) or away != self.away
        self.room, self.away = room, away
        for leads, before in list(self.news.items()):
            news = _news(room, leads=leads) if room else News()
            if gone or news != before:
                self.news[leads] = news
                self.tell(leads=leads)


async def call(act: Callable[..., Found], *given: object) -> Found:
    """Ask the store; in a thread where it is far, so that nobody else waits."""
    return await asyncio.to_thread(act, *given) if rooms.store().far else act(*given)


class Hub:
    """All class rooms that browsers of this process are in."""

    def __init__(self) -> None:
        self._watches: dict[str, Watch] = {}
        self._tasks: set[asyncio.Task] = set()

    def known(self, code: str) -> Watch | None:
        """Return a room that is looked at already."""
        if found := self._watches.get(code):
            found.asked_at = time.monotonic()
        return found

    async def watch(self, code: str) -> Watch:
        """Return the room of a code, which is looked at from now on if there is one."""
        if found := self.known(code):
            return found
        watch = Watch(code, asked_at=time.monotonic())
        await self.look(watch)
        if watch.room is None:  # a wrong code costs one look
            return watch
        if code not in self._watches:
            self._watches[code] = watch
            self._tasks.add(task := asyncio.create_task(self._go_on(watch)))
            task.add_done_callback(self._tasks.discard)
        return self._watches[code]

    async def look(self, watch: Watch) -> None:
        """Look at the room now."""
        try:
            room = await call(rooms.store().look, watch.code)
        except ClassError:
            watch.take(watch.room, away=True)  # as it was
        else:
            watch.take(room)

    async def refresh(self, code: str) -> None:
        """Look at a room that a request has changed, so that who waits is told at once."""
        if watch := self._watches.get(code):
            await self.look(watch)

    async def _go_on(self, watch: Watch) -> None:
        try:
            while time.monotonic() - watch.asked_at < UNWATCHED:
                await asyncio.sleep(LATER if watch.away else TICK)
                await self.look(watch)
                if watch.room is None and not watch.away:
                    break
                await self._tell_store(watch)
        finally:
            del self._watches[watch.code]
            watch.take(None)

    async def _tell_store(self, watch: Watch) -> None:
        """Tell the store who is present, and that the lecturer is."""
        now, store = time.monotonic(), rooms.store()
        try:
            if watch.present and now - watch.heard_at > HEARD:
                watch.heard_at, present, watch.present = now, watch.present, set()
                await call(store.heard, watch.code, present)
            if watch.led and now - watch.held_at > LEADER:
                watch.held_at, watch.led = now, False
                await call(store.hold, watch.code)
        except ClassError:
            watch.away = True


def _news(room: Room, *, leads: bool) -> News:
    """Return the answer to followers or to the lecturer of a room."""
    question = questions.told(room, leads=leads)
    here = orjson.loads(room.told["here"]) if "here" in room.told else None
    said: dict[str, object] = {"here": here, "question": question, "ended": room.ended}
    if leads:
        said["present"] = room.present
    body = orjson.dumps(said)
    return News(body, hashlib.blake2b(body, digest_size=12).hexdigest())
