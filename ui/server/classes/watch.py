"""The class rooms that browsers of this process are in, each looked at once for all of them.

A browser waits for what is new. So a step costs each follower what is sent to it, and next to
nothing while the lecturer speaks. Pages are drawn as followers want them now, not for each step:
for all who see the same, one page is drawn at a time, and then the one that they want by then. In a
burst of steps they see a few on the way, and the last one after two drawings at most. With one for
each step, in turn, a class once stood a step behind for 20 seconds after 30 presses.
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
BEAT = 1.0  # and after which a follower and the lecturer hear that the server is there
PASSED = 3.0  # for which a page is drawn at most that nobody is to show any more
RESTS = 0.3  # without a step: a burst is over
AT_ONCE = 2  # drawings of a room, each for another kind of followers
UNWATCHED = 30.0  # seconds after the last browser has asked
HEARD = 5.0  # seconds between two notes of who is present
LEADER = 20.0  # seconds between two signs of the lecturer
KEPT = 16  # drawings: of a few steps, as browsers may still ask for their files
PASSES = 20.0  # seconds after which a page that would have run itself again is drawn again

Kind = tuple[object, ...]
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
        wanted: the kind of each socket's follower, who see the same pages, and what it waits for.
        drawings: of the last steps, for all who follow alike.
        drawing: the kinds for which one is being made.
        newest: the last one that was made for each kind, and its number.
        began: when the last one was begun for each kind.
        came: when the last one was made for each kind.
        stepped: when each kind was last to show something else.
        looks_again: whether it will be looked at what has passed.
        number: how many were begun.
        due: whether it will be seen to that drawings are begun.
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
    wanted: dict[object, tuple[Kind, Asked | None]] = field(default_factory=dict)
    drawings: dict[Asked, asyncio.Task[Drawing]] = field(default_factory=dict)
    drawing: dict[Kind, Asked] = field(default_factory=dict)
    newest: dict[Kind, tuple[int, Drawing]] = field(default_factory=dict)
    began: dict[Kind, float] = field(default_factory=dict)
    came: dict[Kind, float] = field(default_factory=dict)
    stepped: dict[Kind, float] = field(default_factory=dict)
    looks_again: bool = False
    number: int = 0
    due: bool = False
    moment: int = 0

    def want(self, socket: object, kind: Kind, asked: Asked | None) -> None:
        """Note what a socket waits for, if it does; it is told when that is drawn."""
        if self.wanted.get(socket) != (kind, asked):
            self.wanted[socket] = kind, asked
            if asked:
                self.stepped[kind] = time.monotonic()
            self._draw_soon()

    def leave(self, socket: object) -> None:
        """Note that a socket has gone."""
        self.wanted.pop(socket, None)
        kinds = {kind for kind, _ in self.wanted.values()}
        for of_kind in (self.newest, self.began, self.came, self.stepped):
            for kind in of_kind.keys() - kinds - self.drawing.keys():
                del of_kind[kind]
        self._draw_soon()

    def drawn(self, asked: Asked) -> Drawing | None:
        """Return a drawing that is there."""
        task = self.drawings.get(asked)
        well = task and task.done() and not task.cancelled() and not task.exception()
        return task.result() if well else None

    def _draw_soon(self) -> None:
        """Draw on once all whom this step wakes have said what they want."""
        if not self.due:
            self.due = True
            asyncio.get_running_loop().call_soon(self._draw_on)

    def _draw_on(self) -> None:
        """Begin what most have waited for longest."""
        self.due, now = False, time.monotonic()
        self._give_up(now)
        waits = Counter(
            (kind, asked)
            for kind, asked in self.wanted.values()
            if asked and asked not in self.drawings
        )
        by_need = {one: n * (now - self.began.get(one[0], 0.0)) for one, n in waits.items()}
        for kind, asked in sorted(by_need, key=by_need.get, reverse=True):
            free = len(self.drawing) < AT_ONCE and kind not in self.drawing
            if free and asked not in self.drawings:
                self._begin(kind, asked)

    def _give_up(self, now: float) -> None:
        """End drawings of steps that have passed.

        In a burst of steps they still show those who follow that the lecture goes on: one ends when
        the burst is over, or where it takes long.
        """
        asked_for = set(self.wanted.values())
        passed = [one for one in self.drawing.items() if one not in asked_for]
        for kind, asked in passed:
            rests = now - self.stepped.get(kind, 0.0) > RESTS
            recent = now - self.came.get(kind, 0.0) < PASSED
            if (rests and recent) or now - self.began[kind] > PASSED:
                self.drawings[asked].cancel()
        if passed and not self.looks_again:
            self.looks_again = True
            asyncio.get_running_loop().call_later(RESTS, self._look_again)

    def _look_again(self) -> None:
        self.looks_again = False
        self._draw_soon()

    def _begin(self, kind: Kind, asked: Asked) -> None:
        self.drawing[kind], self.began[kind] = asked, time.monotonic()
        task = self.drawings[asked] = asyncio.create_task(draw(asked))
        self.number += 1
        task.add_done_callback(partial(self._end, kind, asked, self.number))
        done = [one for one, task in self.drawings.items() if task.done()]
        for oldest in done[: max(0, len(self.drawings) - KEPT)]:
            del self.drawings[oldest]

    def _end(self, kind: Kind, asked: Asked, number: int, task: asyncio.Task[Drawing]) -> None:
        del self.drawing[kind]
        later = asyncio.get_running_loop().call_later
        if task.cancelled():
            self.drawings.pop(asked, None)
        elif error := task.exception():
            LOG.error("a page of a class was not drawn: %s", asked.page, exc_info=error)
            later(LATER, self._draw_again, asked)
        else:
            self.newest[kind], self.came[kind] = (number, task.result()), time.monotonic()
            if task.result().passes:
                later(PASSES, self._renew, asked)
        self._draw_soon()
        self.tell(leads=False)

    def _draw_again(self, asked: Asked) -> None:
        self.drawings.pop(asked, None)
        self._draw_on()

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
        said |= {"present": room.present, "leader": room.leader}
    body = orjson.dumps(said)
    return News(body, hashlib.blake2b(body, digest_size=12).hexdigest())
