"""A line: a few at a time, in the order of arrival, and none is stuck behind another."""

import threading

from tests import patience
from tests.attacks.server import wait_until
from tests.clock import Clock
from ui.engine import job_owner
from ui.engine.line import Line

PATIENCE = float(patience.SECONDS)


class Run(threading.Thread):
    """Has a turn in the line, says so, and stays until it is told to end."""

    def __init__(self, line: Line, served: list[str], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.line, self.served = line, served
        self.inside, self.wait, self.away, self.back, self.end = (
            threading.Event() for _ in range(5)
        )
        self.told: list[int] = []
        self.start()

    def run(self) -> None:
        job_owner.show_places_by(self.told.append)
        with self.line.turn():
            self.served.append(self.name)
            self.inside.set()
            self.wait.wait(PATIENCE)
            if not self.end.is_set():
                with self.line.aside(), self.line.aside():  # one within another is part of it
                    self.away.set()
                    self.back.wait(PATIENCE)
                self.served.append(f"{self.name} again")
                self.end.wait(PATIENCE)

    def finish(self) -> None:
        self.end.set(), self.wait.set(), self.back.set()
        self.join(PATIENCE)
        assert not self.is_alive()


def queued(line: Line, count: int) -> None:
    """Wait until so many have no turn yet."""
    wait_until(lambda: len(line._waiting()) == count)


def test_a_few_at_a_time_in_the_order_of_arrival():
    line, served = Line(2, 1, 1, Clock()), []
    first, second = Run(line, served, "first"), Run(line, served, "second")
    assert first.inside.wait(PATIENCE)
    assert second.inside.wait(PATIENCE)
    third = Run(line, served, "third")
    queued(line, 1)
    fourth = Run(line, served, "fourth")
    queued(line, 2)
    assert not third.inside.is_set()
    second.finish()
    assert third.inside.wait(PATIENCE)
    assert not fourth.inside.is_set()
    for one in (first, third, fourth):
        one.finish()
    assert sorted(served[:2]) == ["first", "second"]
    assert served[2:] == ["third", "fourth"]


def test_who_waits_for_something_else_lets_others_in_and_comes_back_first():
    line, served = Line(1, 1, 1, Clock()), []
    first = Run(line, served, "first")
    assert first.inside.wait(PATIENCE)
    second = Run(line, served, "second")
    queued(line, 1)
    third = Run(line, served, "third")
    queued(line, 2)
    first.wait.set()
    assert first.away.wait(PATIENCE)
    assert second.inside.wait(PATIENCE)
    first.back.set()
    queued(line, 2)
    second.finish()
    first.finish()
    third.finish()
    assert served == ["first", "second", "first again", "third"]


def test_who_waits_is_told_the_place_until_the_page_is_run():
    line, served = Line(1, 0.01, 0.01, Clock()), []
    first = Run(line, served, "first")
    assert first.inside.wait(PATIENCE)
    second = Run(line, served, "second")
    queued(line, 1)
    third = Run(line, served, "third")
    wait_until(lambda: 1 in second.told and 2 in third.told)
    first.finish()
    assert second.inside.wait(PATIENCE)
    assert set(first.told) == {0}
    assert second.told[-1] == 0
    wait_until(lambda: third.told[-1] == 1)
    second.finish()
    third.finish()
    assert third.told[-1] == 0


def test_who_has_no_turn_gives_none_up():
    line = Line(1, PATIENCE, PATIENCE)
    with line.aside(), line.aside():
        assert not line
