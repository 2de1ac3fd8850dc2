"""The line of heavy work: one at a time, fair between visitors, never stuck."""

import threading
from contextlib import suppress
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from streamlit.runtime.scriptrunner import StopException, add_script_run_ctx

from kvcount.checks import RefusedError
from tests import patience
from tests.attacks.server import wait_until
from tests.clock import Clock
from ui.engine import job_owner, queue
from ui.engine.queue import FullError, Queue

PATIENCE = float(patience.SECONDS)
LIMIT = 10.0  # seconds of the clock, after which a turn is overdue


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often whether the turn has come."""
    monkeypatch.setattr(queue, "POLL_SECONDS", 0.005)


class Worker(threading.Thread):
    """Takes a turn, says so, and holds it until it is told to end.

    One with a `visitor` runs as a session's thread does; it is `asked` to stop.
    """

    def __init__(
        self,
        line: Queue,
        done: list[object],
        name: object,
        *,
        nested: bool = False,
        visitor: str | None = None,
    ):
        super().__init__(daemon=True)
        self.line, self.done, self.told, self.nested = line, done, name, nested
        self.inside, self.end, self.asked = (threading.Event() for _ in range(3))
        self.looks: list[int] = []  # the place that it had each time
        self.refused: Exception | None = None
        if visitor:
            context = SimpleNamespace(session_id=visitor, yield_check=self.stop_if_asked)
            add_script_run_ctx(self, context)

    def stop_if_asked(self) -> None:
        if self.asked.is_set():
            raise StopException

    def run(self) -> None:
        job_owner.show_places_by(self.looks.append)
        with suppress(StopException):
            try:
                self.work()
            except RefusedError as error:
                self.refused = error

    def work(self) -> None:
        with self.line.turn():
            if self.nested:
                with self.line.turn(), self.line.turn():
                    pass
            self.inside.set()
            self.end.wait(PATIENCE)
            self.done.append(self.told)


class Piecewise(Worker):
    """Works on until it is told to end: every operation is a piece of a second, and is noted."""

    def work(self) -> None:
        number = torch.zeros(1)
        with self.line.turn():
            self.inside.set()
            while not self.end.is_set():
                number.add_(1)
                self.line._clock.now += 1
                self.done.append(self.told)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def line(clock: Clock) -> Queue:
    return Queue(8, LIMIT, clock=clock)


@pytest.fixture
def by_pieces(clock: Clock) -> Queue:
    """A line whose turns let others go first after every operation."""
    return Queue(8, PATIENCE, piece_seconds=0, clock=clock)


@pytest.fixture
def done() -> list[object]:
    """The names of workers in the order in which they ended."""
    return []


def joined(line: Queue, worker: Worker) -> Worker:
    """Start a worker, and wait until it stands in the line."""
    before = len(line._line)
    worker.start()
    wait_until(lambda: len(line._line) > before)
    return worker


def still_waits(worker: Worker) -> bool:
    """Tell whether it has looked twice more, and its turn had not come."""
    seen = len(worker.looks)
    wait_until(lambda: worker.inside.is_set() or len(worker.looks) > seen + 1)
    return not worker.inside.is_set()


def ended(*workers: Worker) -> None:
    for worker in workers:
        worker.end.set()
    for worker in workers:
        worker.join(PATIENCE)
        assert not worker.is_alive(), "it hangs"


def test_turns_come_one_by_one_in_the_order_of_arrival(line, done):
    workers = [joined(line, Worker(line, done, number)) for number in range(5)]
    for number, worker in enumerate(workers):
        assert worker.inside.wait(PATIENCE)
        assert all(map(still_waits, workers[number + 1 :]))
        ended(worker)
    assert done == [0, 1, 2, 3, 4]


def test_a_turn_within_a_turn_is_part_of_it_while_others_wait(line, done):
    first = joined(line, Worker(line, done, "first"))
    assert first.inside.wait(PATIENCE)
    nesting = joined(line, Worker(line, done, "nesting", nested=True))
    last = joined(line, Worker(line, done, "last"))
    ended(first)
    assert nesting.inside.wait(PATIENCE), "it waits for itself"
    assert still_waits(last), "the end of the inner turn is not that of the outer one"
    ended(nesting, last)
    assert done == ["first", "nesting", "last"]


def test_an_overdue_turn_lets_the_next_one_go_on_and_ends_in_peace(line, clock, done, caplog):
    slow = joined(line, Worker(line, done, "slow"))
    assert slow.inside.wait(PATIENCE)
    second = joined(line, Worker(line, done, "second"))
    clock.now += LIMIT - 1
    assert still_waits(second)
    clock.now += 1
    assert second.inside.wait(PATIENCE), "nobody goes on"
    assert "a turn took over 10 s" in caplog.text
    third = joined(line, Worker(line, done, "third"))
    ended(slow)
    assert still_waits(third), "its late end must not end the second's turn"
    ended(second, third)
    assert done == ["slow", "second", "third"]
    with line.turn():
        pass


def test_an_overdue_thread_that_asks_again_waits_like_all_others(line, clock, done):
    asks = threading.Event()

    def slow() -> None:
        with line.turn():
            asks.wait(PATIENCE)
            with line.turn():
                done.append("slow, again")

    thread = threading.Thread(target=slow, daemon=True)
    thread.start()
    wait_until(lambda: line._line and line._line[0].opened)
    second = joined(line, Worker(line, done, "second"))
    clock.now += LIMIT
    assert second.inside.wait(PATIENCE)
    asks.set()
    wait_until(lambda: len(line._line) == 2)
    assert not done
    ended(second)
    thread.join(PATIENCE)
    assert done == ["second", "slow, again"]


def test_a_full_line_is_refused_by_its_code_and_takes_more_once_there_is_room(done):
    line = Queue(most_waiting=2, limit_seconds=PATIENCE)
    workers = [joined(line, Worker(line, done, number)) for number in range(3)]
    with pytest.raises(RefusedError, match="2 pieces of work are waiting") as refused, line.turn():
        pytest.fail("a turn beyond the most")
    assert (refused.value.code, refused.value.values) == ("waiting", {"most": 2})
    ended(workers[0])
    workers.append(joined(line, Worker(line, done, 3)))
    ended(*workers)
    assert done == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_within_a_turn_frees_the_line(line, done, error):
    with pytest.raises(error), line.turn(), line.turn():
        raise error
    worker = joined(line, Worker(line, done, "next"))
    assert worker.inside.wait(PATIENCE)
    ended(worker)


def test_all_sessions_share_one_line(done):
    with queue.turn():
        other = Worker(queue, done, "other")
        other.start()
        assert still_waits(other)
    ended(other)
    assert done == ["other"]


# Between visitors


def worked(worker: Worker, clock: Clock, seconds: float) -> None:
    """Let a worker have its turn for so long."""
    assert worker.inside.wait(PATIENCE)
    clock.now += seconds
    ended(worker)


def test_whoever_has_had_less_goes_before_the_other_pieces_of_a_visitor(line, done, clock):
    of_one = [joined(line, Worker(line, done, f"a{n}", visitor="a")) for n in range(4)]
    other = joined(line, Worker(line, done, "b", visitor="b"))
    worked(of_one[0], clock, 1)
    assert other.inside.wait(PATIENCE)
    third = joined(line, Worker(line, done, "c", visitor="c"))
    worked(other, clock, 1)
    worked(third, clock, 0.1)
    for worker in of_one[1:]:
        worked(worker, clock, 1)
    assert done == ["a0", "b", "c", "a1", "a2", "a3"]


def test_nobody_is_overtaken_for_ever_by_those_who_come(line, done, clock):
    first = joined(line, Worker(line, done, "greedy", visitor="greedy"))
    again = joined(line, Worker(line, done, "again", visitor="greedy"))
    coming = joined(line, Worker(line, done, 0, visitor="0"))
    worked(first, clock, 5)
    for number in range(1, 20):
        following = joined(line, Worker(line, done, number, visitor=str(number)))
        wait_until(lambda at=coming: at.inside.is_set() or again.inside.is_set())
        if again.inside.is_set():
            break
        worked(coming, clock, 1)
        coming = following
    assert again.inside.is_set()
    ended(again, coming, following)


def test_a_visitor_has_a_bound_of_its_own(done):
    line = Queue(8, PATIENCE, most_of_one=2)
    workers = [joined(line, Worker(line, done, n, visitor="a")) for n in range(3)]
    beyond, other = Worker(line, done, "beyond", visitor="a"), Worker(line, done, "b", visitor="b")
    beyond.start()
    beyond.join(PATIENCE)
    assert (beyond.refused.code, beyond.refused.values) == ("waiting_own", {"most": 2})
    joined(line, other)
    ended(*workers, other)
    assert set(done) == {0, 1, 2, "b"}


def test_visitors_who_left_do_not_keep_their_places(done):
    line = Queue(most_waiting=64, limit_seconds=PATIENCE)
    at_work = joined(line, Worker(line, done, "at work", visitor="one who stays"))
    left = [joined(line, Worker(line, done, n, visitor=str(n))) for n in range(64)]
    with pytest.raises(FullError), line.turn():
        pytest.fail("a turn beyond the most")
    for worker in left:
        worker.asked.set()
    wait_until(lambda: len(line._line) == 1)
    after = joined(line, Worker(line, done, "after", visitor="new"))
    ended(at_work, after, *left)
    assert done == ["at work", "after"]


def test_a_visitor_who_leaves_during_a_turn_gives_it_up_between_two_pieces(by_pieces, done):
    works = joined(by_pieces, Piecewise(by_pieces, done, "works", visitor="a"))
    wait_until(lambda: done)
    works.asked.set()
    works.join(PATIENCE)
    assert not works.is_alive()
    assert not works.end.is_set()
    assert not by_pieces._line


def test_who_is_asked_to_stop_does_not_join(line, done):
    worker = Worker(line, done, "left", visitor="a")
    worker.asked.set()
    worker.start()
    worker.join(PATIENCE)
    assert not worker.inside.is_set()
    assert not line._line


def test_two_long_turns_go_on_by_turns(by_pieces, done):
    workers = [joined(by_pieces, Piecewise(by_pieces, done, name)) for name in "ab"]
    wait_until(lambda: done.count("b") > 20)
    ended(*workers)
    last = len(done) - done[::-1].index("a")
    both = done[done.index("b") : last]
    assert all(one != other for one, other in pairwise(both)), "one works and the other waits"


def test_a_whole_turn_is_not_interrupted(by_pieces, done):
    with by_pieces.turn(whole=True):
        waits = joined(by_pieces, Worker(by_pieces, done, "waits"))
        torch.zeros(1).add_(1)
        assert not waits.inside.is_set()
    ended(waits)


def test_no_more_turns_are_open_at_once_than_memory_is_made_for(by_pieces, done):
    workers = [joined(by_pieces, Piecewise(by_pieces, done, n)) for n in range(queue.MOST_OPEN + 1)]
    wait_until(lambda: workers[-2].inside.is_set() and len(done) > 100)
    assert workers[-1].told not in done
    ended(workers[0])
    assert workers[-1].inside.wait(PATIENCE)
    ended(*workers[1:])


def test_who_waits_for_a_lock_in_a_turn_steps_aside_for_who_holds_it(line, done, monkeypatch):
    lock, asks = threading.Lock(), threading.Event()
    monkeypatch.setattr(queue, "_queue", lambda: line)

    def wants() -> None:
        with line.turn():
            asks.wait(PATIENCE)
            with queue.held(lock):
                done.append("wants")

    def holds() -> None:
        with lock, line.turn():
            done.append("holds")

    threads = [threading.Thread(target=work, daemon=True) for work in (wants, holds)]
    for place, thread in enumerate(threads, start=1):
        thread.start()
        wait_until(lambda place=place: len(line._line) == place)
    asks.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert done == ["holds", "wants"]
    assert not lock.locked()
