"""Codes cannot be guessed, keys cannot be found from them, tokens cannot be made up."""

import re
from collections import Counter

import pytest

from ui.classroom import codes
from ui.classroom.limits import Rate, network
from ui.server.classes.endpoint import Limit
from ui.settings.parsers import ROOM_LENGTH, ROOM_LETTERS, room


def test_a_code_is_the_key_s_and_uses_letters_that_nobody_confuses():
    key = codes.new_key()
    code = codes.code_of(key)
    assert codes.code_of(key) == code
    assert room(code) == room(codes.spaced(code).lower()) == code
    assert not set("01ILOU") & set(ROOM_LETTERS)
    assert len(ROOM_LETTERS) ** ROOM_LENGTH > 5e11
    assert codes.code_of(codes.new_key()) != code


def test_a_code_says_nothing_wrong_of_another():
    seen = Counter("".join(codes.code_of(f"key {n}") for n in range(15)))
    assert len(seen) > 20  # 120 letters of 30 kinds


@pytest.mark.parametrize("typed", ["7KQM", "7KQMW3XDD", "0KQMW3XD", "7KQMW3X/", "七KQMW3XD"])
def test_what_can_be_no_code_is_refused(typed):
    with pytest.raises(ValueError, match=re.escape(typed)):
        room(typed)


def test_a_key_is_known_and_nothing_else():
    key, other = codes.new_key(), codes.new_key()
    lead = codes.lead_of(key)
    assert codes.is_key(key, lead)
    for wrong in (other, "", lead.proof, lead.secret, key + "x", "x" * 10**6):
        assert not codes.is_key(wrong, lead)
    assert key not in (lead.proof, lead.secret)


def test_what_seals_a_follower_s_token_is_no_proof_of_the_lecturer():
    lead = codes.lead_of(codes.new_key())
    assert lead.secret != lead.proof


def test_a_token_is_good_in_its_room_alone():
    lead, other = codes.lead_of("a"), codes.lead_of("b")
    token = codes.new_token(lead, codes.mark("10.0.0.1", lead.secret))
    assert codes.is_token(token, lead)
    assert not codes.is_token(token, other)
    for wrong in ("", ".", token[:-1], "x" + token, "\xff.\xff", token.split(".")[0]):
        assert not codes.is_token(wrong, lead)


def test_a_seal_is_this_text_s():
    mark = codes.seal("a question", "secret")
    assert codes.is_sealed("a question", mark, "secret")
    assert not codes.is_sealed("another", mark, "secret")
    assert not codes.is_sealed("a question", mark, "another secret")
    assert not codes.is_sealed("a question", "\xff", "secret")


def test_an_address_may_be_wrong_so_often_and_again_after_a_while(clock):
    limit = Limit(Rate(3, 1), clock)
    for n in range(3):
        assert limit.allows("a")
        limit.count("a", f"code {n}")
    assert not limit.allows("a")
    assert limit.allows("b")
    clock.now += 1.5
    assert limit.allows("a")
    limit.count("a", "code 3")
    limit.count("a", "code 4")
    assert not limit.allows("a")
    clock.now += 100
    assert limit.allows("a")


def test_what_is_remembered_of_addresses_is_bounded(monkeypatch):
    monkeypatch.setattr("ui.classroom.limits.MOST_ADDRESSES", 5)
    monkeypatch.setattr("ui.server.classes.endpoint.SAME", 5)
    limit = Limit(Rate(3, 1), lambda: 0.0)
    for n in range(100):
        limit.count(f"address {n}", f"code {n}")
    assert len(limit._wrong._spent) == 5
    assert len(limit._same) == 5


@pytest.mark.parametrize(
    ("address", "whose"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("127.0.0.1", "here"),
        ("::1", "here"),
        (None, "here"),  # as Streamlit says it
        ("nowhere", "nowhere"),
    ],
)
def test_a_line_is_one_address_however_it_is_written(address, whose):
    assert network(address) == network(network(address)) == whose
