"""Pages are drawn for followers in the order in which they want them now."""

import asyncio
import gzip
import json
from collections import Counter
from unittest.mock import Mock

import pytest

from tests.classroom.browser import until
from ui.classroom import codes
from ui.classroom.store import Room
from ui.server.classes import drawing, following, watch

ROOT = "http://localhost"
LEAD = codes.Lead("", "")


class Hall:
    """A room, its followers by language, and what is drawn for them once it may be."""

    def __init__(self) -> None:
        self.watch = watch.Watch("22222222")
        self.begun, self.ended = [], []
        self.shown: dict[str, list[str]] = {}
        self.may_end = asyncio.Semaphore(0)
        self.tasks = []

    async def draw(self, asked: drawing.Asked) -> drawing.Drawing:
        step = asked.lang, dict(asked.query)["seed"]
        self.begun.append(step)
        try:
            await self.may_end.acquire()
        except asyncio.CancelledError:
            self.ended.append(step)
            raise
        return drawing.Drawing("", asked, ((b"drawn",),), {}, passes=False)

    def lead(self, seed: int) -> None:
        here = json.dumps({"page": "rope", "query": {"seed": str(seed)}})
        self.watch.take(Room(LEAD, version=seed, told={"here": here}))

    def joins(self, name: str, lang: str) -> None:
        self.shown[name] = []
        places = {}

        async def send(said: dict) -> None:
            if "bytes" in said:
                head = json.loads(gzip.decompress(said["bytes"]).partition(b"\n")[0])
                self.shown[name].append(places[head["place"]])
            elif "place" in (news := json.loads(said["text"])):
                places[news["place"]] = int(news["here"]["query"]["seed"])

        hello = following.Hello("", lang, ROOT, (), "")
        follows = following.follow(self.watch, name, hello, asyncio.Event().wait, send)
        self.tasks.append(asyncio.create_task(follows))

    async def until(self, holds) -> None:
        async def look() -> bool:
            return holds()

        await until(look, bool)

    async def all_want(self, seed: int) -> None:
        """Wait until every follower has heard of a step."""

        def want() -> bool:
            asked = [one for _, one in self.watch.wanted.values()]
            told = [dict(one.query)["seed"] == str(seed) for one in asked if one]
            return len(told) == len(self.tasks) and all(told)

        await self.until(want)


@pytest.fixture
def lecture(monkeypatch):
    """`lecture(told)` runs a coroutine in a hall."""
    for part in ("hold_media_files", "finalize"):  # of a server that runs
        monkeypatch.setattr(drawing, part, Mock())

    def run(told) -> None:
        async def held() -> None:
            hall = Hall()
            monkeypatch.setattr(watch, "draw", hall.draw)
            await told(hall)
            for task in hall.tasks:
                task.cancel()

        asyncio.run(held())

    return run


def test_after_a_burst_of_steps_the_last_one_is_drawn_next(lecture):
    async def told(hall: Hall) -> None:
        hall.lead(0)
        for n in range(50):
            hall.joins(f"follower {n}", "en")
        await hall.all_want(0)
        for seed in range(1, 31):
            hall.lead(seed)
            await hall.all_want(seed)
        hall.may_end.release()
        await hall.until(lambda: all(seen == [0] for seen in hall.shown.values()))
        hall.may_end.release()
        await hall.until(lambda: all(seen == [0, 30] for seen in hall.shown.values()))
        assert hall.begun == [("en", "0"), ("en", "30")]

    lecture(told)


def test_what_most_wait_for_is_drawn_first_and_nobody_waits_for_ever(lecture):
    async def told(hall: Hall) -> None:
        hall.lead(0)
        for n, own in enumerate(["zh", "fr", "de", *["en"] * 10]):
            hall.joins(f"follower {n}", own)
        await hall.until(lambda: hall.begun)
        assert len(hall.begun) == watch.AT_ONCE  # a stranger has no more than that
        for _ in range(4):
            hall.may_end.release()
        await hall.until(lambda: all(hall.shown.values()))
        hall.lead(1)
        await hall.until(lambda: len(hall.begun) > 4)
        assert hall.begun[4] == ("en", "1")
        for _ in range(4):
            hall.may_end.release()
        await hall.until(lambda: all(seen[-1] == 1 for seen in hall.shown.values()))
        assert max(Counter(hall.begun).values()) == 1

    lecture(told)


def test_a_page_that_takes_long_holds_up_no_later_one(lecture, monkeypatch):
    monkeypatch.setattr(watch, "PASSED", 0.0)

    async def told(hall: Hall) -> None:
        hall.lead(0)
        hall.joins("follower", "en")
        await hall.until(lambda: hall.begun)
        hall.lead(1)
        await hall.until(lambda: hall.ended == [("en", "0")])
        hall.may_end.release()
        await hall.until(lambda: hall.shown["follower"] == [1])

    lecture(told)
