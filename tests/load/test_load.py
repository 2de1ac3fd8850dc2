"""The load and fault figures in a short form: nothing is lost, whatever the time it takes."""

import pytest

from benchmarks.load import classes, faults, leak, same_picture
from benchmarks.load.crowd import Plan
from benchmarks.load.fleet import fleet
from tests import patience


@pytest.mark.browser
def test_a_class_arrives_and_everybody_is_served():
    plan = Plan(visitors=16, arriving=1, staying=6, pause=2, patience=patience.SECONDS)
    with fleet(2) as apps:
        row = classes.served(apps, plan, browsers=1)
    assert row["in"] == 15
    assert row["asked"] == row["answered"] > 0
    assert (row["errors"], row["lost sessions"], row["tracebacks"]) == (0, 0, 0)
    assert (row["browsers' in"], row["browsers' errors"]) == (1, 0)


def test_what_all_ask_for_at_once_is_computed_once():
    for row in same_picture.same_picture(visitors=12, patience=patience.SECONDS):
        assert row["computed"] == 1
        assert row["answered"] == row["asked"] == 12
        assert row["tracebacks"] == 0


def test_a_killed_process_loses_nobody():
    (row,) = faults.killed(visitors=9, seconds=9, pause=2, patience=patience.SECONDS)
    assert row["of the killed"] == row["back"] == 3
    assert (row["forgotten"], row["errors"], row["tracebacks"]) == (0, 0, 0)


def test_who_is_silent_or_deaf_harms_nobody():
    quiet, beside = faults.slow(visitors=6, seconds=5, silent=200, half_open=50, deaf=4)
    assert quiet["errors"] == beside["errors"] == beside["tracebacks"] == 0
    assert beside["answered"] == beside["asked"] > 0
    assert beside["MiB"] - quiet["MiB"] < 200


def test_who_has_left_leaves_nothing():
    start, _, _, after = leak.leak(visitors=8, seconds=8, pause=2, gone=patience.SECONDS, rest=0)
    assert (after["errors"], after["tracebacks"]) == (0, 0)
    assert after["reruns"] > 0
    assert after["files"] <= start["files"] + leak.FEW
    assert after["threads"] <= start["threads"] + leak.FEW
