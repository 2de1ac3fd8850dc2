"""A class between browsers and the server: what a lecturer does comes to all, and no lie counts."""

import asyncio
import json
from collections import Counter
from functools import partial, wraps
from itertools import islice

import pytest

from tests import patience
from tests.classroom.browser import Follower, Lecturer, Server, joined, until
from ui.classroom import codes, questions, rooms
from ui.classroom.embedded import Embedded
from ui.classroom.store import Ages
from ui.frame import open_all  # noqa: F401, opens the rooms
from ui.server.classes import endpoint
from ui.server.classes.endpoint import Limit

HERE = {"page": "kv_cache", "query": {"kv_view": "memory", "stop": "11"}}
WORDS = {"asks": "How many?", "answers": ["1", "2", "3"], "true": "2", "why": "<b>So.</b>"}
QUESTION = {
    "words": {"en": WORDS, "zh": WORDS},
    "right": 1,
    "scale": False,
    "hides": ["lead"],
    "guess": "lead",
}


def run(test):
    """A test that is a coroutine."""

    @wraps(test)
    def started(**given):
        asyncio.run(asyncio.wait_for(test(**given), patience.SECONDS))

    return started


@pytest.fixture
def led(store, monkeypatch):
    """A process with a room, and the room's key."""
    monkeypatch.setattr(rooms, "store", lambda: store)
    monkeypatch.setattr(endpoint, "WAIT", 0.05)
    monkeypatch.setattr(endpoint, "BEAT", 0.05)
    return lambda: Lecturer(Server(), *opened())


def opened():
    key = rooms.open_new("10.0.0.99")
    return codes.code_of(key), key


def put():
    sealed = questions.sealed(json.dumps(QUESTION))
    return {"put": sealed["text"], "seal": sealed["seal"]}


@run
async def test_who_joins_gets_what_the_lecturer_shows_and_each_step_after_it(led):
    lecturer = led()
    assert (await lecturer.say(here=HERE)).status == 200
    follower = await joined(lecturer.server, lecturer.code)
    first = await follower.news()
    assert first.body == {"here": HERE, "question": None, "ended": False}
    assert (await follower.news(first.tag)).status == 304  # nothing new: no body, no work
    waits = asyncio.create_task(until(lambda: follower.news(first.tag), lambda a: a.status == 200))
    step = {"page": "rope", "query": {}}
    await lecturer.say(here=step)
    assert (await waits).body["here"] == step


@run
async def test_the_lecturer_sees_counts_and_followers_see_them_with_the_reveal(led):
    lecturer = led()
    crowd = [await joined(lecturer.server, lecturer.code) for _ in range(300)]
    await lecturer.say(**put())
    asked = (await crowd[0].news()).body["question"]
    assert "right" not in asked
    assert "counts" not in asked
    assert set(asked["words"]["en"]) == {"asks", "answers"}
    found = await asyncio.gather(
        *(one.answer(asked["id"], n % 3) for n, one in enumerate([*crowd, *crowd]))
    )
    assert Counter(answer.status for answer in found) == {200: 300, 409: 300}
    assert {answer.refused for answer in found} == {"", "twice"}
    counted = await until(lecturer.news, lambda a: sum(a.body["question"]["counts"]) == 300)
    assert counted.body["question"]["counts"] == [100, 100, 100]
    assert "counts" not in (await crowd[0].news()).body["question"]
    late = await joined(lecturer.server, lecturer.code)
    await lecturer.say(shown=asked["id"])
    shown = (await late.news()).body["question"]
    assert (shown["right"], shown["counts"]) == (1, [100, 100, 100])
    assert shown["words"]["en"] == WORDS
    assert (await late.answer(asked["id"], 1)).refused == "closed"
    await lecturer.say(dropped=True)
    assert (await late.news()).body["question"] is None


@run
async def test_a_follower_that_lies_is_refused_and_changes_nothing(led):
    lecturer = led()
    follower = await joined(lecturer.server, lecturer.code)
    assert (await follower.answer("none", 0)).refused == "closed"  # no question stands
    await lecturer.say(**put())
    name = (await follower.news()).body["question"]["id"]
    for choice in (-1, 3, 10**9, "1", None, True, 1.0, [1]):
        assert (await follower.answer(name, choice)).refused == "no_choice"
    assert (await follower.answer("another question", 1)).refused == "closed"
    for question in (None, 7, "x" * 100):
        assert (await follower.answer(question, 1)).refused == "garbled"
    assert (await follower.news("a state that never was")).status == 200
    forged = Follower(lecturer.server, lecturer.code, "someone." + "0" * 32, "10.0.0.1")
    assert (await forged.answer(name, 1)).refused == "stranger"
    assert (await forged.news()).status == 401
    path = f"/_class/{lecturer.code}/lead"
    for headers in ({"x_class_token": follower.secret}, {"x_class_key": follower.secret}, {}):
        refused = await lecturer.server.ask(path, "POST", {"ended": True}, **headers)
        assert (refused.status, refused.refused) == (403, "no_key")
    assert (await lecturer.news()).body["question"]["counts"] == [0, 0, 0]


@pytest.mark.parametrize(
    "here",
    [
        {"page": "https://example.org", "query": {}},
        {"page": "../kv_cache", "query": {}},
        {"page": "kv_cache", "query": {"lang": "zh"}},
        {"page": "kv_cache", "query": {"room": "7KQMW3XD"}},
        {"page": "kv_cache", "query": {"quiz_answers": "1"}},
        {"page": "kv_cache", "query": {"none": "1"}},
        {"page": "kv_cache", "query": {"seed": 1}},
        {"page": "kv_cache", "query": {"text": "x" * 3000}},
        {"page": 1, "query": {}},
        "kv_cache",
        None,
    ],
    ids=str,
)
def test_a_lecturer_can_lead_to_pages_of_the_app_alone(led, here):
    async def lead():
        lecturer = led()
        assert (await lecturer.say(here=here)).refused == "garbled"
        assert (await lecturer.news()).body["here"] is None

    asyncio.run(lead())


@run
async def test_nothing_is_asked_that_the_server_did_not_write(led):
    lecturer, good = led(), put()
    other = json.dumps(QUESTION | {"hides": ["<script>"]})
    for message in (
        {"put": other, "seal": good["seal"]},
        {"put": good["put"], "seal": "0" * 64},
        {"put": good["put"]},
        {"put": 7, "seal": 7},
    ):
        assert (await lecturer.say(**message)).refused == "garbled"
    for body in (b"{", b"[]", b"\xff", b'"' + b"x" * 300_000 + b'"'):
        path = f"/_class/{lecturer.code}/lead"
        answer = await lecturer.server.ask(path, "POST", body, x_class_key=lecturer.secret)
        assert (answer.status, answer.refused) == (400, "garbled")


@run
async def test_wrong_codes_are_limited_and_who_is_in_stays_in(led):
    lecturer = led()
    follower = await joined(lecturer.server, lecturer.code)
    wrong = [f"2222{letter}{other}22" for letter in "ABCDEFGHJK" for other in "23456789"]
    found = Counter()
    for code in wrong:
        found[(await lecturer.server.ask(f"/_class/{code}/join", "POST")).refused] += 1
    assert found["no_room"] + found["hurry"] == 80
    assert found["hurry"] > 0
    assert (await lecturer.server.ask(f"/_class/{lecturer.code}/join", "POST")).status == 429
    assert (await follower.news()).status == 200  # at the same address
    assert (await lecturer.say(here=HERE)).status == 200
    await joined(lecturer.server, lecturer.code, address="10.0.0.2")


@pytest.mark.parametrize("processes", [1, 3])
def test_so_many_wrong_codes_are_taken_by_all_processes_together(led, monkeypatch, processes):
    monkeypatch.setenv("MLA_PROCESSES", str(processes))
    monkeypatch.setenv("MLA_REDIS_URL", "redis://localhost:1/0")
    monkeypatch.setattr(endpoint, "Limit", partial(Limit, clock=lambda: 0.0))

    async def tried(server):
        codes = [f"2222{letter}{other}22" for letter in "ABCDEFGHJK" for other in "23456789"]
        answers = [await server.ask(f"/_class/{code}/join", "POST") for code in codes]
        return Counter(answer.refused for answer in answers)

    machine = [asyncio.run(tried(Server())) for _ in range(processes)]
    assert sum(machine, Counter())["no_room"] == endpoint.WRONG_AT_ONCE


@run
async def test_who_asks_for_one_code_again_and_again_guesses_none(led):
    lecturer = led()
    for _ in range(200):  # a class after its end
        answer = await lecturer.server.ask("/_class/22222222/join", "POST")
        assert (answer.status, answer.refused) == (404, "no_room")
    await joined(lecturer.server, lecturer.code)


@run
async def test_10_000_joins_from_one_address_leave_room_for_others(led):
    lecturer = led()
    path, found = f"/_class/{lecturer.code}/join", Counter()
    for _ in range(10_000):
        answer = await lecturer.server.ask(path, "POST", address="10.0.0.66")
        found[answer.status, answer.refused] += 1
    assert found.keys() == {(200, ""), (429, "crowd")}
    assert found[429, "crowd"] > 9000
    for number in range(100):
        follower = await joined(lecturer.server, lecturer.code, f"10.0.1.{number}")
        assert (await follower.news()).status == 200


@run
async def test_who_opens_many_rooms_leaves_some_for_others(led, monkeypatch):
    lecturer = led()
    monkeypatch.setattr(endpoint.codes, "code_of", lambda key: key[-8:])  # without its cost
    found = Counter()
    for number in range(40):
        own = Lecturer(lecturer.server, f"222222{number + 22}", f"key 222222{number + 22}")
        found[(await own.say(here=HERE)).refused] += 1
    assert found == {"": 10, "openings": 30}
    late = Lecturer(lecturer.server, "33333333", "key 33333333", address="10.0.0.2")
    assert (await late.say(here=HERE)).status == 200


@run
async def test_a_second_device_asks_before_it_leads_and_the_first_one_is_told(led):
    first = led()
    second = Lecturer(first.server, first.code, first.secret)
    first.device, second.device = "first", "second"
    follower = await joined(first.server, first.code)
    await first.say(here=HERE)
    elsewhere = {"page": "rope", "query": {}}
    acts = ({"here": elsewhere}, put(), {"dropped": True}, {"ended": True})
    for act in acts:
        refused = await second.say(**act)
        assert (refused.status, refused.refused) == (409, "led")
    assert (await follower.news()).body["here"] == HERE
    assert (await second.news()).body["leader"] == "first"
    assert (await second.say(takes=True)).status == 200
    assert (await follower.news()).body["here"] == HERE
    await second.say(here=elsewhere)
    assert (await follower.news()).body["here"] == elsewhere
    assert (await first.news()).body["leader"] == "second"
    for act in acts:
        assert (await first.say(**{"here": HERE} | act)).refused == "led"
    assert (await first.say(takes=True, here=HERE)).status == 200
    assert (await follower.news()).body["here"] == HERE
    assert (await second.news()).body["leader"] == "first"


@run
async def test_one_browser_waits_a_few_times_at_once_and_no_more(led, monkeypatch):
    lecturer = led()
    follower = await joined(lecturer.server, lecturer.code)
    tag = (await follower.news()).tag
    monkeypatch.setattr(
        endpoint, "WAIT", patience.SECONDS
    )  # the three wait until there is something new
    asked = [asyncio.create_task(follower.news(tag)) for _ in range(10)]
    refused = [await answer for answer in islice(asyncio.as_completed(asked), 7)]
    assert [answer.status for answer in refused] == [429] * 7
    await lecturer.say(here=HERE)
    found = await asyncio.gather(*asked)
    assert Counter(answer.status for answer in found) == {200: 3, 429: 7}


@run
async def test_the_end_is_told_and_then_there_is_no_room(led):
    lecturer = led()
    follower = await joined(lecturer.server, lecturer.code)
    await lecturer.say(here=HERE, ended=True)
    assert (await follower.news()).body == {"here": None, "question": None, "ended": True}
    assert (await lecturer.server.ask(f"/_class/{lecturer.code}/join", "POST")).status == 404


@run
async def test_a_room_that_a_process_forgot_comes_back_by_its_lecturer_alone(monkeypatch):
    before, after = Embedded(Ages()), Embedded(Ages())
    monkeypatch.setattr(rooms, "store", lambda: before)
    lecturer = Lecturer(Server(), *opened())
    follower = await joined(lecturer.server, lecturer.code)
    monkeypatch.setattr(rooms, "store", lambda: after)  # the process has restarted
    lecturer.server = follower.server = Server()
    assert (await follower.news()).status == 404
    stranger = Lecturer(lecturer.server, lecturer.code, codes.new_key())
    assert (await stranger.say(here=HERE)).refused == "no_key"
    assert (await lecturer.say(here=HERE)).status == 200
    back = await follower.news()  # with the token of before
    assert (back.status, back.body["here"]) == (200, HERE)


@run
async def test_the_rest_of_the_app_is_left_alone(led):
    lecturer = led()
    for path in ("/", "/kv_cache", "/_stcore/health", "/_class/", "/_class/A/B", "/_classes/A"):
        await lecturer.server.ask(path)
    assert len(lecturer.server.passed) == 6
    for method, path in (("POST", "A"), ("GET", "A/join"), ("PUT", "A/lead"), ("DELETE", "A")):
        assert (await lecturer.server.ask(f"/_class/{path}", method)).status == 400
