"""A class in a short form: everybody follows, every answer counts once."""

from benchmarks.load import room
from tests import patience


def test_a_class_follows_its_lecturer():
    (row,) = room.following(
        visitors=6, steps=3, pause=2, clients=1, patience=patience.SECONDS, bare=0, warm={}
    )
    assert (row["followers"], row["out of step at the end"]) == (6, 0)


def test_every_answer_of_a_class_is_counted_once():
    (row,) = room.answering(visitors=40, within=2, patience=patience.SECONDS, warm={})
    assert row["answers"] == row["counted"] == row["second ones refused"] == 40
    assert row["histogram right"]
    assert row["after the reveal"] == 409
    assert row["tracebacks"] == 0


def test_a_class_of_50_ends_where_500_quick_steps_lead():
    (row,) = room.hurrying(visitors=50, steps=500, pause=0.05, patience=patience.SECONDS, warm={})
    assert (row["followers"], row["out of step at the end"]) == (50, 0)


def test_10_000_joins_from_one_address_leave_room_for_others():
    (row,) = room.crowding(visitors=60, patience=patience.SECONDS, warm={})
    assert row["let in"] + row["turned away"] == row["joins"] == 10_000
    assert row["let in"] < 2000  # of the seats that there are
    assert (row["others in"], row["tracebacks"]) == (60, 0)
