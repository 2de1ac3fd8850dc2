"""The line of heavy work: in order, one at a time, never stuck."""

import threading
import time
from collections.abc import Callable

import pytest

from mla_engine.checks import RefusedError
from tests import patience
from ui.engine import queue
from ui.engine.queue import Queue

PATIENCE = float(patience.SECONDS)


class Worker(threading.Thread):
    """Takes a turn, says so, and holds it until it is told to end."""

    def __init__(self, line: Queue, done: list[object], name: object, *, nested: bool = False):
        super().__init__(daemon=True)
        self.line, self.done, self.told, self.nested = line, done, name, nested
        self.inside, self.end = threading.Event(), threading.Event()

    def run(self) -> None:
        with self.line.turn():
            if self.nested:
                with self.line.turn(), self.line.turn():
                    pass
            self.inside.set()
            self.end.wait(PATIENCE)
            self.done.append(self.told)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.001)


@pytest.fixture
def line() -> Queue:
    return Queue(most_waiting=8, limit_seconds=PATIENCE)


@pytest.fixture
def done() -> list[object]:
    """The names of workers in the order in which they ended."""
    return []


def joined(line: Queue, worker: Worker) -> Worker:
    """Start a worker, and wait until it stands in the line."""
    before = len(line._line)
    worker.start()
    until(lambda: len(line._line) > before)
    return worker


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
        assert not any(later.inside.is_set() for later in workers[number + 1 :])
        ended(worker)
    assert done == [0, 1, 2, 3, 4]


def test_a_turn_within_a_turn_is_part_of_it_while_others_wait(line, done):
    first = joined(line, Worker(line, done, "first"))
    assert first.inside.wait(PATIENCE)
    nesting = joined(line, Worker(line, done, "nesting", nested=True))
    last = joined(line, Worker(line, done, "last"))
    ended(first)
    assert nesting.inside.wait(PATIENCE), "it waits for itself"
    assert not last.inside.wait(0.05), "the end of the inner turn is not that of the outer one"
    ended(nesting, last)
    assert done == ["first", "nesting", "last"]


def test_an_overdue_turn_lets_the_next_one_go_on_and_ends_in_peace(done, caplog):
    line = Queue(most_waiting=8, limit_seconds=0.1)
    slow = joined(line, Worker(line, done, "slow"))
    assert slow.inside.wait(PATIENCE)
    second = joined(line, Worker(line, done, "second"))
    assert second.inside.wait(PATIENCE), "nobody goes on"
    assert "a turn took over 0.1 s" in caplog.text
    line._limit = PATIENCE  # from here on nothing is overdue
    third = joined(line, Worker(line, done, "third"))
    ended(slow)
    assert not third.inside.wait(0.05), "its late end must not end the second's turn"
    ended(second, third)
    assert done == ["slow", "second", "third"]
    with line.turn():
        pass


def test_an_overdue_thread_that_asks_again_waits_like_all_others(done):
    line, asks = Queue(most_waiting=8, limit_seconds=0.1), threading.Event()

    def slow() -> None:
        with line.turn():
            asks.wait(PATIENCE)
            with line.turn():
                done.append("slow, again")

    thread = threading.Thread(target=slow, daemon=True)
    thread.start()
    until(lambda: len(line._line) == 1)
    second = joined(line, Worker(line, done, "second"))
    assert second.inside.wait(PATIENCE)
    line._limit = PATIENCE
    asks.set()
    until(lambda: len(line._line) == 2)
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
    held = threading.Event()

    def other() -> None:
        with queue.turn():
            done.append("other")

    with queue.turn():
        thread = threading.Thread(target=other, daemon=True)
        thread.start()
        held.wait(0.05)
        assert not done
    thread.join(PATIENCE)
    assert done == ["other"]
