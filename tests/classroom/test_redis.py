"""Rooms in a real Redis: as those in the process, what lies in it, and how it may fail."""

import pytest

from tests.attacks.server import wait_until
from tests.classroom.browser import Lecturer, Server, joined, until
from tests.classroom.conftest import AGES
from tests.classroom.redis_server import running
from tests.classroom.test_endpoint import *  # noqa: F403 - the same of this store
from tests.classroom.test_endpoint import HERE, opened, run
from tests.classroom.test_stores import *  # noqa: F403
from ui.classroom import codes, rooms
from ui.classroom.store import Ages, ClassError

KEY = "the lecturer's key"
LEAD = codes.lead_of(KEY)


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def made(redis_server):
    """Make stores, as the fixture of tests/classroom/conftest.py."""

    def remote(ages=AGES, **given):
        store = redis_server.store(ages, **given)
        store._redis.flushdb()
        return store

    return remote


@pytest.fixture
def comes():
    """Let time pass, as the fixture there; the time is Redis's own."""
    return lambda holds: wait_until(holds, "its time is over")


def test_nothing_stays_of_a_class_and_no_choice_is_tied_to_a_follower(redis_server):
    store = redis_server.store(Ages(), name="kept")
    store._redis.flushdb()
    store.open("AAAAAAAA", LEAD, 10, "at")
    store.ask("AAAAAAAA", "q1", "{}")
    store.answer("AAAAAAAA", "q1", "follower-1", 3)
    store.heard("AAAAAAAA", ["follower-1"])
    held = redis_server.everything()
    assert KEY not in held
    assert "follower-1" in held
    assert store._redis.smembers("kept:class:AAAAAAAA:answered") == {"follower-1"}
    assert store._redis.hgetall("kept:class:AAAAAAAA:counts") == {"3": "1"}
    assert all(store._redis.pttl(name) > 0 for name in redis_server.names())  # all goes by itself
    store.end("AAAAAAAA")
    assert redis_server.names() == {"kept:class:AAAAAAAA:room", "kept:bucket:openings:at"}
    assert "follower-1" not in redis_server.everything()


def test_two_processes_see_one_room(redis_server):
    one, other = (redis_server.store(Ages(), name="two") for _ in range(2))
    one.open("AAAAAAAA", LEAD, 10, "")
    one.ask("AAAAAAAA", "q1", "{}")
    other.answer("AAAAAAAA", "q1", "a", 0)
    with pytest.raises(ClassError) as twice:
        one.answer("AAAAAAAA", "q1", "a", 1)
    assert twice.value.code == "twice"
    assert one.look("AAAAAAAA").counts == {0: 1}


def test_a_redis_that_goes_is_told_and_one_that_comes_back_is_used(tmp_path):
    with running(tmp_path) as server:
        store = server.store(Ages())
        store.open("AAAAAAAA", LEAD, 10, "")
        server.kill()
        acts = [(store.look,), (store.tell, "here", ""), (store.answer, "q", "a", 0)]
        acts += [(store.heard, ["a"]), (store.hold,), (store.admit, "at"), (store.seat, "a")]
        acts += [(store.lead, "one")]
        for act, *given in acts:
            with pytest.raises(ClassError) as away:
                act("AAAAAAAA", *given)
            assert away.value.code == "away"
        with pytest.raises(ClassError):
            store.open("BBBBBBBB", LEAD, 10, "")
        server.start()
        assert store.look("AAAAAAAA") is None  # it kept nothing
        store.open("AAAAAAAA", LEAD, 10, "")
        assert store.look("AAAAAAAA").lead == LEAD


@run
async def test_redis_gone_in_the_middle_of_a_lecture(tmp_path, monkeypatch):
    with running(tmp_path) as server:
        store = server.store(Ages())
        monkeypatch.setattr(rooms, "store", lambda: store)
        lecturer = Lecturer(Server(), *opened())
        follower = await joined(lecturer.server, lecturer.code)
        await lecturer.say(here=HERE)
        assert (await follower.news()).body["here"] == HERE
        server.kill()
        lost = await until(follower.news, lambda answer: answer.status != 200)
        assert (lost.status, lost.refused) == (503, "away")
        assert set(lost.body["said"]) == {"en", "zh"}
        assert (await lecturer.say(here=HERE)).refused == "away"
        server.start()  # it kept nothing
        back = await until(lambda: lecturer.say(here=HERE), lambda answer: answer.status == 200)
        assert back.status == 200
        again = await until(follower.news, lambda answer: answer.status == 200)
        assert again.body["here"] == HERE
