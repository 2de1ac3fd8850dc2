"""Visitors are let in by order of arrival, never beyond the seats, and keep a seat for a reload."""

import random

import pytest

from ui.server import admission
from ui.server.admission import NOBODY, Admission, Seats


class Hall:
    """Seats, and the time."""

    def __init__(self, most: int) -> None:
        self.most, self.now = most, 0.0
        self.seats = Seats(lambda: self.most, lambda: self.now)


def enter(hall: Hall, *visitors: str) -> None:
    for visitor in visitors:
        assert hall.seats.ask(visitor) == 0
        assert hall.seats.connect(visitor)


def test_who_comes_next_waits_in_the_order_of_arrival():
    hall = Hall(2)
    enter(hall, "a", "b")
    assert [hall.seats.ask(who) for who in "cdecd"] == [1, 2, 3, 1, 2]
    hall.seats.leave("a")
    assert hall.seats.ask("c") == 1  # the seat is kept a while for who had it
    hall.now += admission.AWAY_SECONDS / 2
    assert [hall.seats.ask(who) for who in "dc"] == [2, 1]
    hall.now += admission.AWAY_SECONDS / 2
    assert [hall.seats.ask(who) for who in "dcd"] == [2, 0, 1]  # "e" has not asked again
    assert hall.seats.connect("c")
    assert not hall.seats.connect("d")


def test_who_loads_the_page_again_keeps_the_seat():
    hall = Hall(1)
    enter(hall, "a")
    assert hall.seats.ask("b") == 1
    assert hall.seats.ask("a") == 0  # the new page is asked for before the old one has gone
    hall.seats.leave("a")
    assert hall.seats.ask("b") == 1
    assert not hall.seats.connect("b")
    assert hall.seats.connect("a")


def test_who_has_left_the_line_is_not_waited_for():
    hall = Hall(1)
    enter(hall, "a")
    assert [hall.seats.ask(who) for who in "bc"] == [1, 2]
    hall.now += admission.PATIENT_SECONDS - 1
    assert hall.seats.ask("c") == 2
    hall.now += 2
    assert hall.seats.ask("c") == 1


def test_who_was_let_in_and_does_not_come_gives_the_seat_back():
    hall = Hall(1)
    assert hall.seats.ask("a") == 0
    assert hall.seats.ask("b") == 1
    hall.now += admission.COMING_SECONDS
    assert hall.seats.ask("b") == 0


def test_nobody_without_a_token_overtakes_the_line():
    hall = Hall(2)
    enter(hall, "a", "b")
    hall.seats.ask("c")
    hall.seats.leave("a")
    hall.now += admission.AWAY_SECONDS - 1
    assert hall.seats.ask("c") == 1
    hall.now += 1
    assert not hall.seats.connect(NOBODY)
    assert hall.seats.ask("c") == 0


def test_tabs_share_a_seat_and_are_few():
    hall = Hall(1)
    enter(hall, "a")
    tabs = [hall.seats.connect("a") for _ in range(10)]
    assert tabs == [True] * (admission.TABS - 1) + [False] * (11 - admission.TABS)
    assert hall.seats.taken == 1
    for _ in range(admission.TABS):
        hall.seats.leave("a")
    assert hall.seats.taken == 1  # kept
    hall.now += admission.AWAY_SECONDS
    assert hall.seats.ask("b") == 0


def test_the_line_is_bounded():
    hall = Hall(1)
    enter(hall, "a")
    most = admission.LONGEST_LINE
    places = [hall.seats.ask(str(number)) for number in range(most + 3)]
    assert places[-4:] == [most, most + 1, most + 1, most + 1]
    assert hall.seats.waiting == most


@pytest.mark.parametrize(("link", "browser"), [(b"lang=zh", b"en-GB,en"), (b"", b"zh-CN,zh")])
def test_who_waits_gets_the_whole_page_in_chinese(monkeypatch, link, browser):
    monkeypatch.setattr(admission, "_seats", lambda: 0)
    sent: list[dict] = []

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "scheme": "http", "path": "/"}
    scope["query_string"] = link
    scope["headers"] = [(b"accept", b"text/html"), (b"accept-language", browser)]
    with pytest.raises(StopIteration):  # to its end, without a loop
        Admission(None)(scope, None, send).send(None)
    start, body = sent
    page = body["body"].decode()
    assert "你排在第 1 位" in page
    assert page.rstrip().endswith("</html>")
    assert int(dict(start["headers"])[b"content-length"]) == len(body["body"]) > len(page)


@pytest.mark.parametrize("seed", range(20))
def test_never_more_than_the_seats(seed):
    hall, draw = Hall(3), random.Random(seed)
    open_now: list[str] = []
    for _ in range(500):
        hall.now += draw.expovariate(1)
        who = draw.choice([NOBODY, *"abcdefgh"])
        if open_now and draw.random() < 0.4:
            hall.seats.leave(open_now.pop(draw.randrange(len(open_now))))
        elif (who == NOBODY or hall.seats.ask(who) == 0) and hall.seats.connect(who):
            open_now.append(who)
        known = {one for one in open_now if one != NOBODY}
        assert len(known) + open_now.count(NOBODY) <= hall.seats.taken <= hall.most
