"""The rooms of one process, in its memory."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ui.classroom.codes import Lead, mark_of
from ui.classroom.limits import JOINS, OPENINGS, Buckets, part
from ui.classroom.store import MOST_FOLLOWERS, PRESENT_SECONDS, Ages, ClassError, Room


@dataclass
class _Held:
    """A room, with what nobody is told of it."""

    room: Room
    until: float  # it ends then at the latest
    ends: float
    opener: str
    joins: Buckets
    answered: set[str] = field(default_factory=set)
    counts: Counter[int] = field(default_factory=Counter)
    heard: dict[str, float] = field(default_factory=dict)


class Embedded:
    """Rooms that nobody beside this process knows of."""

    far = False

    def __init__(self, ages: Ages, clock: Callable[[], float] = time.monotonic) -> None:
        self._ages, self._clock = ages, clock
        self._rooms: dict[str, _Held] = {}
        self._openings = Buckets(OPENINGS, clock)
        self._lock = threading.Lock()

    def open(self, code: str, lead: Lead, most: int, opener: str) -> None:
        """See `Store`."""
        with self._lock:
            now = self._clock()
            self._rooms = {c: held for c, held in self._rooms.items() if held.ends > now}
            before = self._rooms.get(code)
            if before and not before.room.ended:
                return
            held_by = [held.opener for held in self._rooms.values() if not held.room.ended]
            if len(held_by) >= most:
                raise ClassError("rooms_full", most=most)
            if held_by.count(opener) >= part(most):
                raise ClassError("address_rooms", most=part(most))
            if not self._openings.take(opener):
                raise ClassError("openings")
            version = before.room.version + 1 if before else 0
            until = now + self._ages.most
            ends = min(until, now + self._ages.idle)
            joins = Buckets(JOINS, self._clock)
            self._rooms[code] = _Held(Room(lead, version), until, ends, opener, joins)

    def look(self, code: str) -> Room | None:
        """See `Store`."""
        with self._lock:
            held = self._held(code)
            if not held:
                return None
            self._forget(held)
            return replace(held.room, counts=dict(held.counts), present=len(held.heard))

    def hold(self, code: str) -> None:
        """See `Store`."""
        with self._lock:
            held = self._held(code)
            if held and not held.room.ended:
                held.ends = min(held.until, self._clock() + self._ages.idle)

    def lead(self, code: str, device: str, *, takes: bool = False) -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            if held.room.leader and not takes:
                _leads(held, device)
            elif held.room.leader != device:
                _change(held, leader=device)

    def tell(self, code: str, part: str, text: str, device: str = "") -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            _leads(held, device)
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

    def admit(self, code: str, mark: str) -> None:
        """See `Store`."""
        with self._lock:
            if not self._open(code).joins.take(mark):
                raise ClassError("crowd")

    def seat(self, code: str, follower: str) -> None:
        """See `Store`."""
        with self._lock:
            held = self._open(code)
            if self._clock() - held.heard.get(follower, float("-inf")) >= PRESENT_SECONDS:
                self._forget(held)
                _has_room(held, mark_of(follower))
            held.heard[follower] = self._clock()

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
            self._rooms[code] = _Held(room, ends, ends, held.opener, held.joins)

    def _forget(self, held: _Held) -> None:
        """Free the seats of those who have left."""
        since = self._clock() - PRESENT_SECONDS
        held.heard = {name: at for name, at in held.heard.items() if at > since}

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


def _leads(held: _Held, device: str) -> None:
    """Refuse a device while another leads.

    Raises:
        ClassError: "led".
    """
    if held.room.leader != device:
        raise ClassError("led")


def _has_room(held: _Held, mark: str) -> None:
    """Refuse one more where all seats are taken, or those of an address.

    Raises:
        ClassError: "room_full", "address_full".
    """
    if len(held.heard) >= MOST_FOLLOWERS:
        raise ClassError("room_full", most=MOST_FOLLOWERS)
    if sum(mark_of(one) == mark for one in held.heard) >= part(MOST_FOLLOWERS):
        raise ClassError("address_full", most=part(MOST_FOLLOWERS))


def _change(held: _Held, **changes: object) -> None:
    held.room = replace(held.room, version=held.room.version + 1, **changes)
