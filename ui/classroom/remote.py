"""The rooms of several processes, in Redis.

What must not come apart is one script there: whether a question stands, and whether somebody has
answered it, is known at the moment in which the answer is counted.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mla_engine.lazy import LazyModule
from ui.classroom.codes import Lead
from ui.classroom.store import MOST_FOLLOWERS, PRESENT_SECONDS, Ages, ClassError, Room

redis = LazyModule("redis")

PATIENCE = 0.5  # seconds for Redis, which stands beside the app
PARTS = "counts", "answered", "heard"  # beside the room itself, a key each
_OPEN = "redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HGET', KEYS[1], 'ended') ~= '1'"
# KEYS[1] is the room, then PARTS. Each answers 0 where there is no such room.
SCRIPTS = {
    # ARGV: proof, secret, the last second of the room, idle milliseconds
    "open": f"""
        if {_OPEN} then return 1 end
        local version = redis.call('HGET', KEYS[1], 'version') or '-1'
        redis.call('DEL', unpack(KEYS))
        redis.call('HSET', KEYS[1], 'proof', ARGV[1], 'secret', ARGV[2], 'until', ARGV[3],
            'version', version + 1, 'joined', 0)
        redis.call('PEXPIRE', KEYS[1], ARGV[4])
        return 1""",
    # ARGV: idle milliseconds, the present second
    "hold": f"""
        if not ({_OPEN}) then return 0 end
        local left = (redis.call('HGET', KEYS[1], 'until') - ARGV[2]) * 1000
        local ends = math.max(1, math.floor(math.min(left, ARGV[1])))
        for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ends) end
        return 1""",
    # ARGV: the part, its text
    "tell": f"""
        if not ({_OPEN}) then return 0 end
        local name = 'told:' .. ARGV[1]
        if redis.call('HGET', KEYS[1], name) ~= ARGV[2] then
            redis.call('HSET', KEYS[1], name, ARGV[2])
            redis.call('HINCRBY', KEYS[1], 'version', 1)
        end
        return 1""",
    # ARGV: the question's name, its text
    "ask": f"""
        if not ({_OPEN}) then return 0 end
        redis.call('DEL', KEYS[2], KEYS[3])
        redis.call('HSET', KEYS[1], 'asks', ARGV[1], 'told:question', ARGV[2], 'shown', 0)
        redis.call('HINCRBY', KEYS[1], 'version', 1)
        return 1""",
    # ARGV: the question's name
    "show": f"""
        if not ({_OPEN}) then return 0 end
        local stands = ARGV[1] ~= '' and redis.call('HGET', KEYS[1], 'asks') == ARGV[1]
        if stands and redis.call('HGET', KEYS[1], 'shown') ~= '1' then
            redis.call('HSET', KEYS[1], 'shown', 1)
            redis.call('HINCRBY', KEYS[1], 'version', 1)
        end
        return 1""",
    # ARGV: how many may join
    "admit": f"""
        if not ({_OPEN}) then return 0 end
        if tonumber(redis.call('HGET', KEYS[1], 'joined')) >= tonumber(ARGV[1]) then return 2 end
        redis.call('HINCRBY', KEYS[1], 'joined', 1)
        return 1""",
    # ARGV: the question's name, the follower, the choice
    "answer": f"""
        if not ({_OPEN}) then return 0 end
        local stands = ARGV[1] ~= '' and redis.call('HGET', KEYS[1], 'asks') == ARGV[1]
        if not stands or redis.call('HGET', KEYS[1], 'shown') == '1' then return 2 end
        if redis.call('SADD', KEYS[3], ARGV[2]) == 0 then return 3 end
        redis.call('HINCRBY', KEYS[2], ARGV[3], 1)
        local left = redis.call('PTTL', KEYS[1])
        redis.call('PEXPIRE', KEYS[2], left)
        redis.call('PEXPIRE', KEYS[3], left)
        return 1""",
    # ARGV: milliseconds for which the end is told
    "end": f"""
        if not ({_OPEN}) then return 0 end
        local kept = redis.call('HMGET', KEYS[1], 'proof', 'secret', 'version')
        redis.call('DEL', unpack(KEYS))
        redis.call('HSET', KEYS[1], 'proof', kept[1], 'secret', kept[2], 'version', kept[3] + 1,
            'ended', 1)
        redis.call('PEXPIRE', KEYS[1], ARGV[1])
        return 1""",
}


class Remote:
    """Rooms that all processes with this Redis know of."""

    far = True

    def __init__(
        self, address: str, ages: Ages, clock: Callable[[], float] = time.time, name: str = "mla"
    ) -> None:
        self._ages, self._clock, self._name = ages, clock, name
        once_more = redis.retry.Retry(redis.backoff.NoBackoff(), 1)  # of a connection that went
        self._redis = redis.Redis.from_url(
            address,
            decode_responses=True,
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
            retry=once_more,
        )
        self._scripts = {name: self._redis.register_script(text) for name, text in SCRIPTS.items()}

    def open(self, code: str, lead: Lead, most: int) -> None:
        """See `Store`; the number of rooms is counted a moment before."""
        now = self._clock()
        with _known():
            there = f"{self._name}:class:*:room"
            if sum(1 for _ in self._redis.scan_iter(there, count=1000)) >= most:
                raise ClassError("rooms_full", most=most)
        until = now + self._ages.most
        idle = _milliseconds(min(self._ages.idle, self._ages.most))
        self._run("open", code, lead.proof, lead.secret, until, idle)

    def look(self, code: str) -> Room | None:
        """See `Store`."""
        room, counts, _, heard = self._keys(code)
        with _known():
            asked = self._redis.pipeline(transaction=False)
            asked.hgetall(room).hgetall(counts)
            asked.zcount(heard, self._clock() - PRESENT_SECONDS, "+inf")
            held, counted, present = asked.execute()
        if "proof" not in held:
            return None
        told = {n.removeprefix("told:"): text for n, text in held.items() if n[:5] == "told:"}
        return Room(
            lead=Lead(held["proof"], held["secret"]),
            version=int(held["version"]),
            told=told,
            asks=held.get("asks", ""),
            shown=held.get("shown") == "1",
            counts={int(choice): int(count) for choice, count in counted.items()},
            present=present,
            ended=held.get("ended") == "1",
        )

    def hold(self, code: str) -> None:
        """See `Store`."""
        self._run("hold", code, _milliseconds(self._ages.idle), self._clock())

    def tell(self, code: str, part: str, text: str) -> None:
        """See `Store`."""
        self._must("tell", code, part, text)

    def ask(self, code: str, asks: str, text: str) -> None:
        """See `Store`."""
        self._must("ask", code, asks, text)

    def show(self, code: str, asks: str) -> None:
        """See `Store`."""
        self._must("show", code, asks)

    def admit(self, code: str) -> None:
        """See `Store`."""
        if self._must("admit", code, MOST_FOLLOWERS) == 2:
            raise ClassError("room_full", most=MOST_FOLLOWERS)

    def heard(self, code: str, followers: Iterable[str]) -> None:
        """See `Store`."""
        now, key = self._clock(), self._keys(code)[3]
        if present := dict.fromkeys(followers, now):
            with _known():
                told = self._redis.pipeline(transaction=False)
                told.zremrangebyscore(key, "-inf", now - PRESENT_SECONDS)
                told.zadd(key, present)
                told.pexpire(key, _milliseconds(PRESENT_SECONDS))
                told.execute()

    def answer(self, code: str, asks: str, follower: str, choice: int) -> None:
        """See `Store`."""
        found = self._must("answer", code, asks, follower, choice)
        if found != 1:
            raise ClassError({2: "closed", 3: "twice"}[found])

    def end(self, code: str) -> None:
        """See `Store`."""
        self._must("end", code, _milliseconds(self._ages.ended))

    def _keys(self, code: str) -> list[str]:
        return [f"{self._name}:class:{code}:{part}" for part in ("room", *PARTS)]

    def _run(self, script: str, code: str, *given: object) -> Any:
        with _known():
            return self._scripts[script](keys=self._keys(code), args=given)

    def _must(self, script: str, code: str, *given: object) -> int:
        """Run a script.

        Raises:
            ClassError: "no_room".
        """
        if not (found := self._run(script, code, *given)):
            raise ClassError("no_room", code=code)
        return found


@contextmanager
def _known() -> Iterator[None]:
    """Redis is there.

    Raises:
        ClassError: "away".
    """
    try:
        yield
    except redis.RedisError as error:
        raise ClassError("away") from error


def _milliseconds(seconds: float) -> int:
    return max(1, int(1000 * seconds))
