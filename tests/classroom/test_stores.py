"""Both stores of class rooms behave alike, the one in the process and the one in Redis."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from ui.classroom import codes
from ui.classroom import store as stores
from ui.classroom.store import Ages, ClassError

LEAD = codes.lead_of("a key")


def refused(act, *given):
    with pytest.raises(ClassError) as error:
        act(*given)
    return error.value.code


def test_a_room_tells_what_it_was_told_and_every_change_has_a_number(store, room, key):
    first = store.look(room)
    assert (first.lead, dict(first.told), first.asks) == (codes.lead_of(key), {}, "")
    store.tell(room, "here", '{"page": "kv_cache"}')
    second = store.look(room)
    assert second.told == {"here": '{"page": "kv_cache"}'}
    assert second.version > first.version
    store.tell(room, "here", '{"page": "kv_cache"}')  # again the same: nobody need hear of it
    assert store.look(room) == second


def test_a_room_goes_on_where_its_key_opens_it_again(store, room, key):
    store.tell(room, "here", "there")
    store.open(room, codes.lead_of(key), 10, "")
    assert store.look(room).told["here"] == "there"


def test_there_is_no_room_under_another_code(store, room):
    assert store.look("22222222") is None
    acts = [(store.tell, "here", ""), (store.ask, "q", ""), (store.show, "q")]
    acts += [(store.answer, "q", "somebody", 0), (store.end,), (store.lead, "one")]
    acts += [(store.admit, "at"), (store.seat, "somebody")]
    for act, *given in acts:
        assert refused(act, "22222222", *given) == "no_room"
    store.hold("22222222")
    store.heard("22222222", ["somebody"])
    assert store.look("22222222") is None


def test_no_more_rooms_are_held_than_may_be(store):
    for code in ("AAAAAAAA", "BBBBBBBB"):
        store.open(code, LEAD, 2, code)
    assert refused(store.open, "CCCCCCCC", LEAD, 2, "another") == "rooms_full"


def test_one_address_holds_half_of_the_rooms_at_most(store):
    for code in ("AAAAAAAA", "BBBBBBBB", "CCCCCCCC"):
        store.open(code, LEAD, 6, "one")
    assert refused(store.open, "DDDDDDDD", LEAD, 6, "one") == "address_rooms"
    store.open("CCCCCCCC", LEAD, 6, "one")  # is open already
    store.open("DDDDDDDD", LEAD, 6, "another")
    store.end("AAAAAAAA")
    store.open("EEEEEEEE", LEAD, 6, "one")


def test_rooms_are_opened_by_one_address_ten_at_once_and_then_one_a_minute(made, clock):
    store = made(clock=clock)
    for number in range(10):
        store.open(f"AAAAAAA{number}", LEAD, 100, "one")
    assert refused(store.open, "BBBBBBBB", LEAD, 100, "one") == "openings"
    store.open("CCCCCCCC", LEAD, 100, "another")
    clock.now += 61
    store.open("BBBBBBBB", LEAD, 100, "one")
    assert refused(store.open, "DDDDDDDD", LEAD, 100, "one") == "openings"


def test_300_answers_at_once_are_each_counted_once(store, room):
    store.ask(room, "q1", "{}")
    followers = [f"follower {n}" for n in range(300)]

    def answer(sent):
        try:
            store.answer(room, "q1", sent[0], sent[1])
        except ClassError as error:
            return error.code
        return "counted"

    sent = [(name, n % 4) for n, name in enumerate(followers)]
    with ThreadPoolExecutor(32) as pool:
        found = Counter(pool.map(answer, [*sent, *reversed(sent)]))  # everybody sends it twice
    assert found == {"counted": 300, "twice": 300}
    assert store.look(room).counts == {0: 75, 1: 75, 2: 75, 3: 75}


def test_an_answer_counts_for_the_question_that_stands_until_its_reveal(store, room):
    assert refused(store.answer, room, "", "a", 0) == "closed"  # none stands
    store.ask(room, "q1", "first")
    store.answer(room, "q1", "a", 2)
    assert refused(store.answer, room, "q0", "b", 2) == "closed"  # of another question
    store.show(room, "q0")
    assert not store.look(room).shown
    store.show(room, "q1")
    assert refused(store.answer, room, "q1", "b", 2) == "closed"
    seen = store.look(room)
    assert (seen.shown, seen.counts, seen.told["question"]) == (True, {2: 1}, "first")
    store.ask(room, "q2", "second")  # begins at nothing, and who has answered may again
    assert store.look(room).counts == {}
    store.answer(room, "q2", "a", 0)
    assert (store.look(room).counts, store.look(room).shown) == ({0: 1}, False)


def test_who_follows_is_counted_while_heard_of(made, clock):
    store = made(clock=clock)
    store.open("AAAAAAAA", LEAD, 10, "")
    store.heard("AAAAAAAA", ["a", "b"])
    clock.now += stores.PRESENT_SECONDS / 2
    store.heard("AAAAAAAA", ["b", "c"])
    assert store.look("AAAAAAAA").present == 3
    clock.now += stores.PRESENT_SECONDS / 2 + 1
    assert store.look("AAAAAAAA").present == 2


def test_a_room_has_so_many_seats_and_they_are_of_who_is_there(made, clock, monkeypatch):
    for place in ("embedded", "remote"):
        monkeypatch.setattr(f"ui.classroom.{place}.MOST_FOLLOWERS", 2)
    store = made(clock=clock)
    store.open("AAAAAAAA", LEAD, 10, "")
    for who in ("address1-a", "address2-b", "address2-b"):
        store.seat("AAAAAAAA", who)
    assert refused(store.seat, "AAAAAAAA", "address3-c") == "room_full"
    clock.now += stores.PRESENT_SECONDS / 2
    store.heard("AAAAAAAA", ["address1-a"])
    clock.now += stores.PRESENT_SECONDS / 2 + 1  # the second has left
    assert refused(store.seat, "AAAAAAAA", "address1-d") == "address_full"
    store.seat("AAAAAAAA", "address3-c")
    assert store.look("AAAAAAAA").present == 2


def test_10_000_joins_from_one_address_leave_room_for_others(made, clock):
    store, came, there = made(clock=clock), Counter(), []
    store.open("AAAAAAAA", LEAD, 10, "")

    def joins(address, name):
        try:
            store.admit("AAAAAAAA", address)
            store.seat("AAAAAAAA", name)
        except ClassError as error:
            came[address, error.code] += 1
        else:
            came[address] += 1
            there.append(name)

    for number in range(10_000):  # they stay, and others try to come with them
        clock.now += 0.02
        if number % 1000 == 0:
            store.heard("AAAAAAAA", there)
        joins("stranger", f"stranger{number}")
    let_in = 400 + 1999  # in 199.98 seconds
    assert came["stranger"] == stores.MOST_FOLLOWERS / 2
    assert came["stranger", "address_full"] == let_in - 1000
    assert came["stranger", "crowd"] == 10_000 - let_in
    for number in range(300):
        joins("the hall", f"the hall{number}")
    assert came["the hall"] == 300


def test_1_000_students_behind_one_address_are_in_within_a_minute_or_two(made, clock):
    store, there, turned_away = made(clock=clock), [], Counter()
    store.open("AAAAAAAA", LEAD, 10, "")
    for _ in range(60):  # a browser tries again after a second or two
        while len(there) < 1000:
            try:
                store.admit("AAAAAAAA", "the hall")
            except ClassError as error:
                turned_away[error.code] += 1
                break
            there.append(f"the hall{len(there)}")
            store.seat("AAAAAAAA", there[-1])
        clock.now += 1.5
        store.heard("AAAAAAAA", there)
    assert len(there) == 1000
    assert set(turned_away) == {"crowd"}


def test_one_device_leads_until_another_takes_over(store, room):
    store.lead(room, "first")
    store.tell(room, "here", "there", "first")
    assert refused(store.lead, room, "second") == "led"
    assert refused(store.tell, room, "here", "elsewhere", "second") == "led"
    assert (store.look(room).leader, store.look(room).told["here"]) == ("first", "there")
    before = store.look(room).version
    store.lead(room, "second", takes=True)
    assert store.look(room).version > before
    assert refused(store.tell, room, "here", "there", "first") == "led"
    store.tell(room, "here", "elsewhere", "second")
    store.lead(room, "first", takes=True)  # takes it back
    assert store.look(room).leader == "first"


def test_a_closed_room_says_so_and_keeps_nothing_else(store, room):
    store.tell(room, "here", "there")
    store.ask(room, "q1", "{}")
    store.answer(room, "q1", "a", 1)
    store.heard(room, ["a"])
    before = store.look(room)
    store.end(room)
    after = store.look(room)
    assert after.ended
    assert after.version > before.version
    assert (dict(after.told), after.asks, after.counts, after.present) == ({}, "", {}, 0)
    assert refused(store.admit, room, "at") == refused(store.seat, room, "b") == "no_room"
    assert refused(store.answer, room, "q1", "b", 1) == "no_room"


def test_rooms_end_by_themselves_and_last_while_the_lecturer_is_heard_of(made, comes):
    store = made(Ages(idle=2))
    store.open("AAAAAAAA", LEAD, 10, "")
    store.open("BBBBBBBB", LEAD, 10, "")
    store.ask("AAAAAAAA", "q1", "{}")
    store.answer("AAAAAAAA", "q1", "a", 1)

    def one_is_over():
        store.hold("BBBBBBBB")
        return store.look("AAAAAAAA") is None

    comes(one_is_over)
    assert store.look("BBBBBBBB") is not None
    comes(lambda: store.look("BBBBBBBB") is None)


def test_no_room_lasts_longer_than_its_most(made, comes):
    store = made(Ages(idle=60, most=0.3))
    store.open("AAAAAAAA", LEAD, 10, "")

    def over():
        store.hold("AAAAAAAA")
        return store.look("AAAAAAAA") is None

    comes(over)  # whatever the lecturer does


def test_a_closed_room_is_forgotten(made, comes):
    store = made(Ages(ended=0.2))
    store.open("AAAAAAAA", LEAD, 1, "")
    store.end("AAAAAAAA")
    store.open("BBBBBBBB", LEAD, 2, "")  # a closed one takes no place for long
    comes(lambda: store.look("AAAAAAAA") is None)
