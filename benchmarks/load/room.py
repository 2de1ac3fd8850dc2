"""A class of one room: everybody follows each step of the lecturer, and all answer a question.

A follower is a socket, as in a browser; they are in processes of their own, so that these do not
limit what is measured.
"""

import asyncio
import json
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import httpx2
from websockets.asyncio.client import connect

from benchmarks.load.classes import TRACEBACK, WARM, Row
from benchmarks.load.crowd import in_thread, until
from benchmarks.load.fleet import Fleet, Taken, bare_fleet, fleet, held, meter
from benchmarks.load.visitor import Visitor
from benchmarks.measuring import percentile
from tests.attacks.server import MIB
from tests.classroom import redis_server
from ui.classroom import codes
from ui.parts.questions import Question, for_class
from ui.settings.page import HOME

SECRET = {"STREAMLIT_SERVER_COOKIE_SECRET": "of the benchmarks"}  # that processes share
STEPS = ("rope", "kv_cache", "absorption", "compare", "attention_maps")
CHOICES = 4
SOON, LATE = 2.0, 5.0  # seconds
CLIENTS = 20  # requests of a stranger at a time
FIRST = 2**16  # bytes of a page in which its head ends, mostly
ARRIVES = 0.05  # seconds between two followers of one process of clients


@dataclass
class Class:
    """A room, its lecturer, and what each step met."""

    app: str
    patience: float
    key: str = field(default_factory=codes.new_key)
    told: list[tuple[float, str]] = field(default_factory=list)  # when, and where
    shown: list[dict[int, float]] = field(default_factory=list)  # of a follower: step -> seconds

    def __post_init__(self) -> None:
        self.code = codes.code_of(self.key)
        limits = httpx2.Limits(max_connections=None)
        self.line = httpx2.AsyncClient(timeout=self.patience, limits=limits, trust_env=False)

    async def lead(self, **said: object) -> None:
        """Do something as the lecturer."""
        await self._post("lead", said, {"x-class-key": self.key})

    async def step(self, number: int) -> None:
        """Go on to another page."""
        here = {"page": STEPS[number % len(STEPS)], "query": {"seed": str(1 + number)}}
        self.told.append((time.monotonic(), json.dumps(here, sort_keys=True)))
        await self.lead(here=here)

    async def join(self) -> dict[str, str]:
        """Take the page that a follower shows from now on."""
        joined = await joined_by(self.line, self.app, self.code)
        return {"x-class-token": joined.json()["token"]}

    async def answer(self, headers: dict[str, str], question: str, choice: int) -> int:
        """The status of an answer."""
        said = {"question": question, "choice": choice}
        return (await self._post("answer", said, headers, well=False)).status_code

    async def news(self, headers: dict[str, str], tag: str) -> tuple[dict | None, str]:
        """Wait for news; return them with their tag."""
        asked = headers | {"if-none-match": tag}
        found = await self.line.get(f"{self.app}/_class/{self.code}", headers=asked)
        if found.status_code == httpx2.codes.NOT_MODIFIED:
            return None, tag
        return found.raise_for_status().json(), found.headers["etag"]

    async def _post(
        self, act: str, said: dict, headers: dict[str, str], *, well: bool = True
    ) -> httpx2.Response:
        url = f"{self.app}/_class/{self.code}/{act}"
        done = await self.line.post(url, json=said, headers=headers)
        return done.raise_for_status() if well else done


async def joined_by(line: httpx2.AsyncClient, url: str, code: str) -> httpx2.Response:
    """The answer to who joins, and tries again where many do at once, as a browser does."""
    while True:
        answer = await line.post(f"{url}/_class/{code}/join", json={})
        if answer.status_code != httpx2.codes.TOO_MANY_REQUESTS:
            return answer.raise_for_status()
        await asyncio.sleep(1)


def followers(url: str, code: str, count: int, patience: float) -> list[dict[str, float]]:
    """Follow a class in a process of its own until it ends; return when each page first came."""

    async def all_follow() -> list[dict[str, float]]:
        async with httpx2.AsyncClient(timeout=patience, trust_env=False) as line:
            tasks = []
            for _ in range(count):
                tasks.append(asyncio.create_task(_follow(line, url, code, patience)))
                await asyncio.sleep(ARRIVES)
            return await asyncio.gather(*tasks)

    return asyncio.run(all_follow())


async def _follow(
    line: httpx2.AsyncClient, url: str, code: str, patience: float
) -> dict[str, float]:
    joined = await joined_by(line, url, code)
    hello = joined.json() | {"lang": "en", "root": url, "own": {}, "shows": ""}
    came: dict[str, float] = {}
    places: dict[str, str] = {}  # where each is, by the name that the server gives it
    socket = f"ws{url.removeprefix('http')}/_class/{code}/follow"
    async with connect(socket, max_size=None, open_timeout=patience, proxy=None) as follows:
        await follows.send(json.dumps(hello))
        async for said in follows:
            if isinstance(said, bytes):
                came.setdefault(places.get(place_of(said), ""), time.monotonic())
                continue
            news = json.loads(said)
            if news.get("ended"):
                break
            if "here" in news:
                places[news["place"]] = json.dumps(news["here"], sort_keys=True)
    return came


def place_of(page: bytes) -> str:
    """The place that a page shows, by the name that the server gives it."""
    unpacked = zlib.decompressobj(wbits=31)
    head = unpacked.decompress(page, FIRST)
    while b"\n" not in head:
        head += unpacked.decompress(unpacked.unconsumed_tail, FIRST)
    return json.loads(head.partition(b"\n")[0])["place"]


def following(
    visitors: int = 300,
    steps: int = 30,
    pause: float = 6.0,
    processes: int = 1,
    clients: int = 2,
    patience: float = 60.0,
    bare: int = 1,
    warm: Mapping[str, str] = WARM,
) -> Iterator[Row]:
    """A lecturer steps, and everybody follows; beside it a bare page that all ask at once."""
    with _joint(processes) as shared, fleet(processes, warm | SECRET | shared) as apps:
        room = Class(apps[0].url, patience)
        plan = visitors, clients, steps, pause
        taken, used_kb = in_thread(_lecture(room, apps, *plan))
        told = {"kB a follower": used_kb, "client processes": clients}
        yield _followed(room, steps, pause) | taken.row() | told | held(apps)
    if bare:
        with bare_fleet() as (app,):
            yield in_thread(_asked_at_once(app.url, visitors, patience))


def hurrying(
    visitors: int = 50,
    steps: int = 500,
    pause: float = 0.1,
    processes: int = 1,
    clients: int = 1,
    patience: float = 60.0,
    warm: Mapping[str, str] = WARM,
) -> Iterator[Row]:
    """A lecturer hurries through steps: when each follower is where the last one leads."""
    with _joint(processes) as shared, fleet(processes, warm | SECRET | shared) as apps:
        room = Class(apps[0].url, patience)
        taken, _ = in_thread(_lecture(room, apps, visitors, clients, steps, pause))
        last = len(room.told) - 1
        waits = [shown.get(last, float("inf")) for shown in room.shown]
        yield (
            {
                "followers": len(waits),
                "steps": steps,
                "in s": room.told[-1][0] - room.told[0][0],
                "steps that a follower saw": sum(map(len, room.shown)) / len(waits),
                "p50 s": percentile(waits, 0.5),
                "max s": max(waits),
                "out of step at the end": waits.count(float("inf")),
            }
            | taken.row()
            | held(apps)
        )


@contextmanager
def _joint(processes: int) -> Iterator[dict[str, str]]:
    """Yield the variables that several processes need to share a class."""
    if processes == 1:
        yield {}
        return
    with TemporaryDirectory() as folder, redis_server.running(Path(folder)) as redis:
        yield {"MLA_REDIS_URL": redis.url}


async def _asked_at_once(url: str, visitors: int, patience: float) -> Row:
    """All who look at the bare page move its slider to one place in one moment."""
    crowd = [Visitor(url, patience) for _ in range(visitors)]
    for visitor in crowd:
        await visitor.come(HOME)
    waits = []
    for place in (3, 4, 5):
        began = time.monotonic()

        async def moved(visitor: Visitor, place: int = place, began: float = began) -> None:
            await visitor.move(visitor.slider(), place)
            waits.append(time.monotonic() - began)

        await asyncio.gather(*map(moved, crowd))
    for visitor in crowd:
        await visitor.close()
    told = {"p50 s": percentile(waits, 0.5), "p95 s": percentile(waits, 0.95), "max s": max(waits)}
    return {"followers": "bare page", "steps": len(waits) // visitors} | told


async def _lecture(
    room: Class, apps: Fleet, visitors: int, clients: int, steps: int, pause: float
) -> tuple[Taken, float]:
    """Return the processor time of the steps and the memory per follower, once all are there."""
    await room.lead(here={"page": HOME, "query": {}})
    shares = [visitors // clients + (one < visitors % clients) for one in range(clients)]
    with ProcessPoolExecutor(clients + 1, mp_context=get_context("spawn")) as pool:

        def begin(at: int, count: int) -> asyncio.Future:
            given = apps[at % len(apps)].url, room.code, count, room.patience
            return asyncio.get_running_loop().run_in_executor(pool, followers, *given)

        crowd = [begin(0, 1)]  # with whom all is drawn once, in every process of clients
        await _present(room, 1)
        for number in range(len(STEPS)):
            await room.step(number)
            await asyncio.sleep(SOON)
        before, first = held(apps)["MiB"], len(room.told)
        crowd += [begin(at, count) for at, count in enumerate(shares)]
        await _present(room, visitors + 1)
        used_kb = (held(apps)["MiB"] - before) * MIB / 1000 / visitors
        began, taken = time.monotonic(), meter(apps)
        for number in range(steps):
            await until(began + pause * number)
            await room.step(len(STEPS) + number)
        await asyncio.sleep(max(pause, LATE) + SOON)
        used = taken()
        await room.lead(ended=True)
        came = [one for share in (await asyncio.gather(*crowd))[1:] for one in share]
    await room.line.aclose()
    room.told = room.told[first:]
    room.shown = [
        {at: one[here] - when for at, (when, here) in enumerate(room.told) if here in one}
        for one in came
    ]
    return used, used_kb


async def _present(room: Class, count: int) -> None:
    """Wait until so many follow, by the lecturer's screen."""
    tag, present = "", 0
    async with asyncio.timeout(room.patience):
        while present < count:
            news, tag = await room.news({"x-class-key": room.key}, tag)
            present = news["present"] if news else present


def _followed(room: Class, steps: int, pause: float) -> Row:
    """A screen that is at a later step has seen this one too."""
    last = len(room.told) - 1
    seen = [
        min((there for step, there in shown.items() if step == number), default=float("inf"))
        for shown in room.shown
        for number in range(last + 1)
    ]
    reached = [one for one in seen if one < float("inf")]
    return {
        "followers": len(room.shown),
        "steps": steps,
        "every s": pause,
        "p50 s": percentile(reached, 0.5),
        "p95 s": percentile(reached, 0.95),
        "max s": max(reached),
        "within 1 s": sum(one <= 1.0 for one in seen) / len(seen),
        "within 1.5 s": sum(one <= 1.5 for one in seen) / len(seen),
        "skipped": len(seen) - len(reached),
        "out of step at the end": sum(last not in shown for shown in room.shown),
    }


def answering(
    visitors: int = 300,
    within: float = 10.0,
    patience: float = 60.0,
    warm: Mapping[str, str] = WARM,
) -> Iterator[Row]:
    """A question to all: each answer counts once, and the histogram is right."""
    with fleet(1, warm | SECRET) as (app,):
        yield in_thread(_asked(Class(app.url, patience), visitors, within)) | {
            "tracebacks": app.log.count(TRACEBACK)
        }


async def _asked(room: Class, visitors: int, within: float) -> Row:
    asked = Question("", "?", tuple("abcd"), 0, why="", true="a", told=(), none="")
    text = for_class({"en": asked, "zh": asked}, "en")
    mark = codes.seal(text, *SECRET.values())
    await room.lead(here={"page": HOME, "query": {}}, put=text, seal=mark)
    followers = [await room.join() for _ in range(visitors)]
    news, _ = await room.news(followers[0], "")
    question, draw = news["question"]["id"], Random(0)
    began = time.monotonic()

    async def answer(headers: dict[str, str]) -> tuple[int, list[int]]:
        choice, due = draw.randrange(CHOICES), began + draw.uniform(0, within)
        await until(due)
        twice = [await room.answer(headers, question, choice) for _ in range(2)]
        waits.append(time.monotonic() - due)
        return choice, twice

    waits: list[float] = []
    done = await asyncio.gather(*map(answer, followers))
    given = Counter(choice for choice, _ in done)
    told = await _counts(room, len(done))
    await room.lead(shown=question)
    late = await room.answer(await room.join(), question, 0)
    await room.line.aclose()
    return {
        "answers": len(done),
        "counted": sum(told),
        "histogram right": told == [given[n] for n in range(CHOICES)],
        "second ones refused": sum(twice == [200, 409] for _, twice in done),
        "after the reveal": late,
        "p95 s": percentile(waits, 0.95),
    }


def crowding(
    joins: int = 10_000,
    visitors: int = 300,
    patience: float = 60.0,
    warm: Mapping[str, str] = WARM,
) -> Iterator[Row]:
    """A stranger joins again and again from one address, and a class comes from others."""
    with fleet(1, warm | SECRET) as (app,):
        yield in_thread(_crowded(Class(app.url, patience), joins, visitors)) | {
            "tracebacks": app.log.count(TRACEBACK)
        }


async def _crowded(room: Class, joins: int, visitors: int) -> Row:
    await room.lead(here={"page": HOME, "query": {}})

    async def join(address: str) -> httpx2.Response:
        url = f"{room.app}/_class/{room.code}/join"
        return await room.line.post(url, json={}, headers={"x-forwarded-for": address})

    began, statuses = time.monotonic(), Counter()
    for _ in range(joins // CLIENTS):
        answers = await asyncio.gather(*(join("203.0.113.1") for _ in range(CLIENTS)))
        statuses.update(answer.status_code for answer in answers)
    took, others = time.monotonic() - began, 0
    for number in range(visitors):
        answer = await join(f"198.51.{number // 250}.{1 + number % 250}")
        if answer.is_success:
            news, _ = await room.news({"x-class-token": answer.json()["token"]}, "")
            others += news is not None
    await room.line.aclose()
    return {
        "joins": sum(statuses.values()),
        "in s": took,
        "let in": statuses[httpx2.codes.OK],
        "turned away": statuses[httpx2.codes.TOO_MANY_REQUESTS],
        "others": visitors,
        "others in": others,
    }


async def _counts(room: Class, answers: int) -> list[int]:
    """Return the text on the lecturer's screen, once it has had the time to show all answers."""
    told, tag, end = [], "", time.monotonic() + LATE
    while sum(told) < answers and time.monotonic() < end:
        news, tag = await room.news({"x-class-key": room.key}, tag)
        told = news["question"]["counts"] if news else told
    return told
