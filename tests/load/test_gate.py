"""Runs of pages: a few at a time, in the order of arrival, and none is stuck behind another."""

import threading

from tests import patience
from tests.attacks.server import wait_until
from tests.clock import Clock
from ui.engine import asker
from ui.engine.gate import Gate

PATIENCE = float(patience.SECONDS)


class Run(threading.Thread):
    """Goes through the gate, says so, and stays until it is told to end."""

    def __init__(self, gate: Gate, came: list[str], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.gate, self.came = gate, came
        self.inside, self.wait, self.away, self.back, self.end = (
            threading.Event() for _ in range(5)
        )
        self.told: list[int] = []
        self.start()

    def run(self) -> None:
        asker.tell_by(self.told.append)
        with self.gate.inside():
            self.came.append(self.name)
            self.inside.set()
            self.wait.wait(PATIENCE)
            if not self.end.is_set():
                with self.gate.aside(), self.gate.aside():  # one within another is part of it
                    self.away.set()
                    self.back.wait(PATIENCE)
                self.came.append(f"{self.name} again")
                self.end.wait(PATIENCE)

    def finish(self) -> None:
        self.end.set(), self.wait.set(), self.back.set()
        self.join(PATIENCE)
        assert not self.is_alive()


def queued(gate: Gate, count: int) -> None:
    """Wait until so many stand before the gate."""
    wait_until(lambda: len(gate._waiting) == count)


def test_a_few_at_a_time_in_the_order_of_arrival():
    gate, came = Gate(2, 1, Clock()), []
    first, second = Run(gate, came, "first"), Run(gate, came, "second")
    assert first.inside.wait(PATIENCE)
    assert second.inside.wait(PATIENCE)
    third = Run(gate, came, "third")
    queued(gate, 1)
    fourth = Run(gate, came, "fourth")
    queued(gate, 2)
    assert not third.inside.is_set()
    second.finish()
    assert third.inside.wait(PATIENCE)
    assert not fourth.inside.is_set()
    for one in (first, third, fourth):
        one.finish()
    assert sorted(came[:2]) == ["first", "second"]
    assert came[2:] == ["third", "fourth"]


def test_who_waits_for_something_else_lets_others_in_and_comes_back_first():
    gate, came = Gate(1, 1, Clock()), []
    first = Run(gate, came, "first")
    assert first.inside.wait(PATIENCE)
    second = Run(gate, came, "second")
    queued(gate, 1)
    third = Run(gate, came, "third")
    queued(gate, 2)
    first.wait.set()
    assert first.away.wait(PATIENCE)
    assert second.inside.wait(PATIENCE)
    first.back.set()
    queued(gate, 2)
    second.finish()
    first.finish()
    third.finish()
    assert came == ["first", "second", "first again", "third"]


def test_a_run_that_hangs_keeps_nobody_out():
    clock = Clock()
    gate, came = Gate(1, 0.05, clock), []
    stuck = Run(gate, came, "stuck")
    assert stuck.inside.wait(PATIENCE)
    second = Run(gate, came, "second")
    queued(gate, 1)
    clock.now += 1
    assert second.inside.wait(PATIENCE)
    second.finish()
    stuck.finish()


def test_who_waits_is_told_the_place_until_the_page_is_run():
    gate, came = Gate(1, 0.01, Clock()), []
    first = Run(gate, came, "first")
    assert first.inside.wait(PATIENCE)
    second = Run(gate, came, "second")
    queued(gate, 1)
    third = Run(gate, came, "third")
    wait_until(lambda: 1 in second.told and 2 in third.told)
    first.finish()
    assert second.inside.wait(PATIENCE)
    assert set(first.told) == {0}
    assert second.told[-1] == 0
    wait_until(lambda: third.told[-1] == 1)
    second.finish()
    third.finish()
    assert third.told[-1] == 0


def test_without_the_gate_nobody_waits():
    gate = Gate(1, PATIENCE)
    with gate.aside(), gate.aside():
        assert not gate._inside
