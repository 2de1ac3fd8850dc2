"""A store of rooms, the one in the process: tests/classroom/test_redis.py has the other."""

import pytest

from tests.clock import Clock
from ui.classroom import codes
from ui.classroom.embedded import Embedded
from ui.classroom.store import Ages

CODE = "7KQMW3XD"
AGES = Ages()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def made(clock):
    """`made(ages)` is an empty store; `made(ages, clock)` with a clock of its own."""
    return lambda ages=AGES, clock=clock: Embedded(ages, clock)


@pytest.fixture
def comes(clock):
    """`comes(holds)` lets time pass until it does."""

    def come(holds):
        for _ in range(1000):
            if holds():
                return
            clock.now += 0.05
        pytest.fail("it does not come")

    return come


@pytest.fixture
def store(made):
    return made()


@pytest.fixture
def key():
    return codes.new_key()


@pytest.fixture
def room(store, key):
    """The code of a room that is open."""
    store.open(CODE, codes.lead_of(key), 10, "")
    return CODE
