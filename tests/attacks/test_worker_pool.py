"""Workers that misbehave, and visitors that leave: one sentence each, and the others go on."""

import sys
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from mla_engine.checkpoints import CheckpointError
from tests import patience
from tests.attacks import false_worker
from tests.attacks.server import wait_until
from ui.engine.workers import process
from ui.engine.workers.access import Place
from ui.engine.workers.limits import Limits
from ui.engine.workers.pool import Pool
from ui.engine.workers.process import Job

PLACE = Place("who/model", "", Path("/nowhere"), as_owner=False)
BROKEN = sorted(
    set(false_worker.JOBS) - {"echo", "hang", "stop_when_told", "over_time", "killed", "abort"}
)


class LeftError(BaseException):
    """An end of a run as Streamlit ends it whose visitor left."""


def nothing(*_):
    pass


def job(name, silent_seconds=1e3, **given):
    return Job.of(name, PLACE, Limits(9, silent_seconds, 2**30), "", **given)


def echoed(pool, visitor="b", word="hello"):
    """The worker's number, where it answers."""
    number, given = pool.call(job("echo", word=word), visitor, nothing, nothing)
    assert given == {"word": word}
    return number


@pytest.fixture
def bomb(tmp_path, monkeypatch):
    """The file that a pickle makes where it is opened."""
    command = (sys.executable, "-m", "tests.attacks.false_worker", str(tmp_path / "bomb"))
    monkeypatch.setattr(process, "COMMAND", command)
    return tmp_path / "bomb"


@pytest.fixture
def made(bomb):
    """`made(n)`: a pool of n workers."""
    with ExitStack() as stack:
        yield lambda n: stack.enter_context(closing(Pool(lambda: n)))


@pytest.fixture
def pool(made):
    return made(2)


@pytest.fixture
def single(made):
    return made(1)


def refusal(pool, asked, visitor="a"):
    with pytest.raises(CheckpointError) as caught:
        pool.call(asked, visitor, nothing, nothing)
    return caught.value


@pytest.mark.parametrize("name", BROKEN)
def test_a_worker_that_lies_costs_one_sentence(single, bomb, name):
    before = echoed(single)
    assert refusal(single, job(name)).code == "job_broke"
    assert echoed(single) != before, "it is not used again"
    assert not bomb.exists()


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("abort", "job_broke", "SIGABRT"),
        ("killed", "job_broke", "SIGKILL"),
        ("over_time", "job_long", "9 s of computing time"),
    ],
)
def test_a_worker_that_dies_is_told_and_replaced(single, name, code, said):
    error = refusal(single, job(name))
    assert error.code == code
    assert said in str(error)
    assert echoed(single)


def test_what_ended_a_worker_is_not_tried_again_at_once(single, monkeypatch):
    refusal(single, job("abort"))
    monkeypatch.setattr(Pool, "_serve", None)
    assert refusal(single, job("abort")).code == "job_broke"


def test_a_worker_without_a_sign_of_life_is_ended(single, tmp_path):
    asked = job("hang", silent_seconds=0.2, begun=str(tmp_path / "begun"))
    assert refusal(single, asked).code == "job_silent"
    assert echoed(single)


class Visit(threading.Thread):
    """A visitor's run that asks for a job, and may leave."""

    def __init__(self, pool, asked, visitor):
        super().__init__()
        self.pool, self.asked, self.visitor = pool, asked, visitor
        self.left, self.found = threading.Event(), None
        self.start()

    def check(self):
        if self.left.is_set():
            raise LeftError

    def run(self):
        try:
            self.found = self.pool.call(self.asked, self.visitor, nothing, self.check)
        except LeftError as error:
            self.found = error

    def leave(self):
        self.left.set()
        self.join()
        assert isinstance(self.found, LeftError)


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """`begun(pool)`: the visit of "a" whose job has begun, and hangs until it leaves."""
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.1)

    def begin(pool, name="hang"):
        file = tmp_path / f"{name} begun"
        first = Visit(pool, job(name, begun=str(file)), "a")
        wait_until(file.exists, "it has begun")
        return first

    return begin


def waiting(pool, visitor, word):
    """The visit of one who waits in the line."""
    visit = Visit(pool, job("echo", word=word), visitor)
    wait_until(lambda: len(pool._line) == 1, "one waits")
    return visit


def test_a_second_visitor_is_answered_while_the_first_waits(pool, begun):
    first = begun(pool)
    assert echoed(pool, "b")
    assert first.is_alive()
    first.leave()


def test_who_leaves_makes_room_for_the_next(single, begun):
    first = begun(single)
    second = Visit(single, job("echo", word="next"), "b")
    first.leave()
    second.join()
    assert second.found[1] == {"word": "next"}


def test_a_worker_that_stops_when_told_is_used_again(single, begun, monkeypatch):
    number = echoed(single)
    first = begun(single, "stop_when_told")
    monkeypatch.setattr(process, "GRACE_SECONDS", patience.SECONDS)
    first.leave()
    assert echoed(single) == number


def test_who_waits_may_leave_and_keeps_no_place(single, begun):
    first = begun(single)
    waiting(single, "b", "never").leave()
    assert not single._line
    first.leave()


def test_a_visitor_has_one_job_at_a_time(pool, begun):
    first = begun(pool)
    other = waiting(pool, "a", "later")
    assert echoed(pool, "b"), "who has none overtakes"
    assert other.is_alive()
    first.leave()
    other.join()
    assert other.found[1] == {"word": "later"}


def test_a_full_line_is_said(single, begun, monkeypatch):
    monkeypatch.setattr("ui.engine.workers.pool.MOST_WAITING", 1)
    first, second = begun(single), waiting(single, "b", "x")
    assert refusal(single, job("echo", word="y"), "c").code == "job_line"
    second.leave()
    first.leave()


def test_a_worker_that_ended_while_idle_is_replaced(single):
    number = echoed(single)
    [idle] = single._idle
    idle._process.terminate()
    idle._process.wait()
    assert echoed(single) != number
