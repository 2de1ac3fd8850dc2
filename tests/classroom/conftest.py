"""Both stores of rooms, the second with a real Redis."""

import pytest

from tests.classroom.redis_server import running
from ui.classroom import codes
from ui.classroom.embedded import Embedded
from ui.classroom.store import Ages

CODE = "7KQMW3XD"
AGES = Ages()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["embedded", "redis"])
def made(request):
    """`made(ages)` is an empty store; `made(ages, clock)` with a clock of its own."""
    if request.param == "embedded":
        return lambda ages=AGES, **given: Embedded(ages, **given)
    server = request.getfixturevalue("redis_server")

    def remote(ages=AGES, **given):
        store = server.store(ages, **given)
        store._redis.flushdb()
        return store

    return remote


@pytest.fixture
def store(made):
    return made()


@pytest.fixture
def key():
    return codes.new_key()


@pytest.fixture
def room(store, key):
    """The code of a room that is open."""
    store.open(CODE, codes.lead_of(key), 10)
    return CODE
