"""Many visitors in one process: who comes when, what each does, and what became of it."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from benchmarks.load.visitor import LostError, Visitor
from benchmarks.measuring import percentile
from tests.attacks.client import StuckError
from ui.frame.pages import PAGES

Result = TypeVar("Result")
KNOCK_SECONDS = 0.2  # between two attempts to come back


@dataclass(frozen=True)
class Plan:
    """A crowd's numbers and times.

    Args:
        visitors: how many come.
        arriving: seconds within which they come, evenly.
        staying: seconds that they act, from the moment when the last has come.
        pause: seconds from one action of a visitor to its next.
        pages: that they look at.
        patience: seconds after which an answer has failed.
        returning: whether who loses the connection comes back, with only the link.
    """

    visitors: int
    arriving: float
    staying: float
    pause: float
    pages: Sequence[str] = tuple(PAGES)
    patience: float = 60.0
    returning: bool = False


@dataclass
class Tally:
    """A crowd's results: seconds until each was in, of each answer, and what went wrong."""

    entered: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    asked: int = 0
    errors: list[str] = field(default_factory=list)
    lost: int = 0
    back: list[float] = field(default_factory=list)  # when each was, by the monotonic clock
    forgotten: list[str] = field(default_factory=list)  # what came back otherwise than it was

    def row(self) -> dict[str, object]:
        """Return the results as columns of a table."""
        entered, answers = self.entered or [float("nan")], self.answers or [float("nan")]
        return {
            "in": len(self.entered),
            "in p50 s": percentile(entered, 0.5),
            "in p95 s": percentile(entered, 0.95),
            "in max s": max(entered),
            "asked": self.asked,
            "answered": len(self.answers),
            "p50 s": percentile(answers, 0.5),
            "p95 s": percentile(answers, 0.95),
            "max s": max(answers),
            "errors": len(self.errors),
            "lost sessions": self.lost,
        }


class Crowd:
    """Visitors of one or several processes, each of whom stays with its own, as by a cookie."""

    def __init__(self, urls: Sequence[str], plan: Plan, seed: int = 0) -> None:
        self.plan, self.tally = plan, Tally()
        self.visitors = [
            Visitor(urls[number % len(urls)], plan.patience) for number in range(plan.visitors)
        ]
        self._seed = seed

    async def visit(self) -> Tally:
        """All of them, from the first to come until the last has left."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number, visitor in enumerate(self.visitors):
                due = began + self.plan.arriving * number / self.plan.visitors
                group.create_task(self._stay(visitor, Random(self._seed + number), began, due))
        for visitor in self.visitors:
            with suppress(OSError):
                await visitor.close()
        return self.tally

    async def _stay(self, visitor: Visitor, draw: Random, began: float, due: float) -> None:
        await until(due)
        try:
            await visitor.come(draw.choice(self.plan.pages))
            self.tally.entered.append(time.monotonic() - due)
            self._look(visitor)
            end = began + self.plan.arriving + self.plan.staying
            due = time.monotonic() + draw.uniform(0, self.plan.pause)
            while due < end:
                await self._rest(visitor, due)
                due = max(await self._act(visitor, draw), due + self.plan.pause)
        except StuckError as error:
            self.tally.errors.append(f"{visitor.page}: {error}")

    async def _rest(self, visitor: Visitor, due: float) -> None:
        """Until it is time to act; a lost connection is seen at once, as a browser does."""
        if not self.plan.returning:
            await until(due)
            return
        lost = asyncio.ensure_future(visitor.connection.wait_closed())
        done, _ = await asyncio.wait({lost}, timeout=max(0.0, due - time.monotonic()))
        lost.cancel()
        if done:
            await self._return(visitor)

    async def _act(self, visitor: Visitor, draw: Random) -> float:
        """One action; tells when it was answered."""
        self.tally.asked += 1
        asked, session = time.monotonic(), visitor.seen.session_id
        try:
            await visitor.act(draw, list(self.plan.pages))
        except LostError:
            if not self.plan.returning:
                raise
            await self._return(visitor)
            return time.monotonic()
        self.tally.lost += visitor.seen.session_id != session
        answered = time.monotonic()
        self.tally.answers.append(answered - asked)
        self._look(visitor)
        return answered

    async def _return(self, visitor: Visitor) -> None:
        """Come back as soon as somebody answers, and see what was there."""
        query, end = visitor.state.query_string, time.monotonic() + self.plan.patience
        while True:
            try:
                await visitor.return_to(visitor.url)
                break
            except LostError:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(KNOCK_SECONDS)
        self.tally.back.append(time.monotonic())
        self._look(visitor)
        if visitor.state.query_string != query:
            self.tally.forgotten.append(f"{visitor.page}: {query}, {visitor.state.query_string}")

    def _look(self, visitor: Visitor) -> None:
        where = f"{visitor.page}?{visitor.state.query_string}"
        self.tally.errors += [f"{where}: {one}" for one in visitor.seen.exceptions]


def in_thread(visit: Coroutine[object, object, Result]) -> Result:
    """Return the result of a coroutine, run in a new thread: this one may have a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, visit).result()


async def until(moment: float) -> None:
    """Wait for a moment, perhaps over."""
    await asyncio.sleep(max(0.0, moment - time.monotonic()))
