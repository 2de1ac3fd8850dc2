"""The rooms of one process, in its memory."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ui.classroom.codes import Lead
from ui.classroom.store import MOST_FOLLOWERS, PRESENT_SECONDS, Ages, ClassError, Room


@dataclass
class _Held:
    """A room, with what nobody is told of it."""

    room: Room
    until: float  # it ends then at the latest
    ends: float
    joined: int = 0
    answered: set[str] = field(default_factory=set)
    counts: Counter[int] = field(default_factory=Counter)
    heard: dict[str, float] = field(default_factory=dict)


class Embedded:
    """Rooms that nobody beside this process knows of."""

    far = False

    def __init__(self, ages: Ages, clock: Callable[[], float] = time.monotonic) -> None:
        self._ages, self._clock = ages, clock
        self._rooms: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def open(self, code: str, lead: Lead, most: int) -> None:
        """See `Store`."""
        with self._lock:
            now = self._clock()
            self._rooms = {c: held for c, held in self._rooms.items() if held.ends > now}
            before = self._rooms.get(code)
            if before and not before.room.ended:
                return
            if sum(not held.room.ended for held in self._rooms.values()) >= most:
                raise ClassError("rooms_full", most=most)
            version = before.room.version + 1 if before else 0
            until = now + self._ages.most
            ends = min(until, now + self._ages.idle)
            self._rooms[code] = _Held(Room(lead, version), until, ends)

    def look(self, code: str) -> Room | None:
        """See `Store`."""
        with self._lock:
            held = self._held(code)
            if not held:
                return None
            since = self._clock() - PRESENT_SECONDS
            held.heard = {name: at for name, at in held.heard.items() if at > since}
            return replace(held.room, counts=dict(held.counts), present=len(held.heard))

    def hold(self, code: str) -> None:
        """See `Store`."""
        with self._lock:
            held = self._held(code)
            if held and not held.room.ended:
                held.ends = min(held.until, self._clock() + self._ages.idle)

    def tell(self, code: str, part: str, text: str) -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            if held.room.told.get(part) != text:
                _change(held, told={**held.room.told, part: text})

    def ask(self, code: str, asks: str, text: str) -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            held.answered, held.counts = set(), Counter()
            told = {**held.room.told, "question": text}
            _change(held, asks=asks, shown=False, told=told)

    def show(self, code: str, asks: str) -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            if asks and held.room.asks == asks and not held.room.shown:
                _change(held, shown=True)

    def admit(self, code: str) -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            if held.joined >= MOST_FOLLOWERS:
                raise ClassError("room_full", most=MOST_FOLLOWERS)
            held.joined += 1

    def heard(self, code: str, followers: Iterable[str]) -> None:
        """See `Store`."""
        with self._lock:
            if held := self._held(code):
                held.heard |= dict.fromkeys(followers, self._clock())

    def answer(self, code: str, asks: str, follower: str, choice: int) -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            if not asks or held.room.asks != asks or held.room.shown:
                raise ClassError("closed")
            if follower in held.answered:
                raise ClassError("twice")
            held.answered.add(follower)
            held.counts[choice] += 1

    def end(self, code: str) -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            room = Room(held.room.lead, held.room.version + 1, ended=True)
            ends = self._clock() + self._ages.ended
            self._rooms[code] = _Held(room, ends, ends)

    def _held(self, code: str) -> _Held | None:
        held = self._rooms.get(code)
        if held and held.ends <= self._clock():
            del self._rooms[code]
            return None
        return held

    def _open(self, code: str) -> _Held:
        held = self._held(code)
        if not held or held.room.ended:
            raise ClassError("no_room", code=code)
        return held


def _change(held: _Held, **changes: object) -> None:
    held.room = replace(held.room, version=held.room.version + 1, **changes)
