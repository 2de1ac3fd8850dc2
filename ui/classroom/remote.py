"""The rooms of several processes, in Redis.

What must not come apart is one script there: whether a question stands, and whether somebody has
answered it, is known at the moment in which the answer is counted.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kvcount.lazy import LazyModule
from ui.classroom.codes import MARK, Lead
from ui.classroom.limits import JOINS, OPENINGS, Rate, part
from ui.classroom.store import MOST_FOLLOWERS, PRESENT_SECONDS, Ages, ClassError, Room

redis = LazyModule("redis")

PATIENCE = 0.5  # seconds for Redis, which stands beside the app
PARTS = "counts", "answered", "heard"  # beside the room itself, a key each
_OPEN = "redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HGET', KEYS[1], 'ended') ~= '1'"
# KEYS[1] is the room, then PARTS. Each answers 0 where there is no such room, 1 if it is done.
SCRIPTS = {
    # ARGV: proof, secret, the last second of the room, idle milliseconds, the opener
    "open": f"""
        if {_OPEN} then return 1 end
        local version = redis.call('HGET', KEYS[1], 'version') or '-1'
        redis.call('DEL', unpack(KEYS))
        redis.call('HSET', KEYS[1], 'proof', ARGV[1], 'secret', ARGV[2], 'until', ARGV[3],
            'version', version + 1, 'opener', ARGV[5])
        redis.call('PEXPIRE', KEYS[1], ARGV[4])
        return 1""",
    # ARGV: idle milliseconds, the present second
    "hold": f"""
        if not ({_OPEN}) then return 0 end
        local left = (redis.call('HGET', KEYS[1], 'until') - ARGV[2]) * 1000
        local ends = math.max(1, math.floor(math.min(left, ARGV[1])))
        for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ends) end
        return 1""",
    # ARGV: the device, whether it takes the lead
    "lead": f"""
        if not ({_OPEN}) then return 0 end
        local leader = redis.call('HGET', KEYS[1], 'leader') or ''
        if leader == ARGV[1] then return 1 end
        if leader ~= '' and ARGV[2] ~= '1' then return 2 end
        redis.call('HSET', KEYS[1], 'leader', ARGV[1])
        redis.call('HINCRBY', KEYS[1], 'version', 1)
        return 1""",
    # ARGV: the part, its text, the device
    "tell": f"""
        if not ({_OPEN}) then return 0 end
        if (redis.call('HGET', KEYS[1], 'leader') or '') ~= ARGV[3] then return 2 end
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
    # ARGV: the present second, that from which on who was heard of is present, the follower, how
    # many there may be, and how many of one address
    "seat": f"""
        if not ({_OPEN}) then return 0 end
        redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', ARGV[2])
        if not redis.call('ZSCORE', KEYS[4], ARGV[3]) then
            local present, alike = redis.call('ZRANGE', KEYS[4], 0, -1), 0
            for _, one in ipairs(present) do
                if one:sub(1, {MARK}) == ARGV[3]:sub(1, {MARK}) then alike = alike + 1 end
            end
            if #present >= tonumber(ARGV[4]) then return 2 end
            if alike >= tonumber(ARGV[5]) then return 3 end
        end
        redis.call('ZADD', KEYS[4], ARGV[1], ARGV[3])
        redis.call('PEXPIRE', KEYS[4], {int(1000 * PRESENT_SECONDS)})
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
    # KEYS[1] is a bucket, which answers 0 if it is empty. ARGV: the present second, how much it
    # holds, how much flows in
    "take": """
        local held, now, most, rate = redis.call('GET', KEYS[1]), unpack(ARGV)
        local spent, at = (held or '0 0'):match('(%S+) (%S+)')
        spent = math.max(0, spent - rate * (now - at)) + 1
        if spent > tonumber(most) then return 0 end
        redis.call('SET', KEYS[1], string.format('%.6f %.3f', spent, now), 'PX',
            math.ceil(1000 * spent / rate))
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

    def open(self, code: str, lead: Lead, most: int, opener: str) -> None:
        """See `Store`; rooms are counted a moment before."""
        now, before = self._clock(), self.look(code)
        if before and not before.ended:
            return
        held_by = self._openers()
        if len(held_by) >= most:
            raise ClassError("rooms_full", most=most)
        if held_by.count(opener) >= part(most):
            raise ClassError("address_rooms", most=part(most))
        if not self._take(f"openings:{opener}", OPENINGS):
            raise ClassError("openings")
        until = now + self._ages.most
        idle = _milliseconds(min(self._ages.idle, self._ages.most))
        self._run("open", code, lead.proof, lead.secret, until, idle, opener)

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
            leader=held.get("leader", ""),
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

    def lead(self, code: str, device: str, *, takes: bool = False) -> None:
        """See `Store`."""
        if self._must("lead", code, device, int(takes)) == 2:
            raise ClassError("led")

    def tell(self, code: str, part: str, text: str, device: str = "") -> None:
        """See `Store`."""
        if self._must("tell", code, part, text, device) == 2:
            raise ClassError("led")

    def ask(self, code: str, asks: str, text: str) -> None:
        """See `Store`."""
        self._must("ask", code, asks, text)

    def show(self, code: str, asks: str) -> None:
        """See `Store`."""
        self._must("show", code, asks)

    def admit(self, code: str, mark: str) -> None:
        """See `Store`."""
        room = self.look(code)
        if not room or room.ended:
            raise ClassError("no_room", code=code)
        if not self._take(f"joins:{code}:{mark}", JOINS):
            raise ClassError("crowd")

    def seat(self, code: str, follower: str) -> None:
        """See `Store`."""
        now = self._clock()
        bounds = MOST_FOLLOWERS, part(MOST_FOLLOWERS)
        found = self._must("seat", code, now, now - PRESENT_SECONDS, follower, *bounds)
        if found == 2:
            raise ClassError("room_full", most=MOST_FOLLOWERS)
        if found == 3:
            raise ClassError("address_full", most=part(MOST_FOLLOWERS))

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

    def _openers(self) -> list[str]:
        """Return the mark of the opener of each room that has not ended."""
        with _known():
            rooms = list(self._redis.scan_iter(f"{self._name}:class:*:room", count=1000))
            asked = self._redis.pipeline(transaction=False)
            for room in rooms:
                asked.hmget(room, "opener", "ended")
            return [opener or "" for opener, ended in asked.execute() if ended != "1"]

    def _take(self, bucket: str, rate: Rate) -> bool:
        """Take one out of a bucket; tell whether something was left."""
        key = f"{self._name}:bucket:{bucket}"
        given = self._clock(), rate.at_once, rate.a_second
        with _known():
            return bool(self._scripts["take"](keys=[key], args=given))

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
