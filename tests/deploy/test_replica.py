"""A process that is killed: its visitors are taken by another, and it comes back by itself."""

import os
import signal
import subprocess
import sys

import pytest

from tests.attacks.client import Session, StuckError
from tests.attacks.server import own_ports, wait_until
from tests.deploy.proxied import DEPLOY, as_visitor_of
from tests.deploy.test_proxy import upload

SETTINGS = "rope_head=3&lang=en"


def head(seen):
    return seen.widget("number_input", "Head,").value


def test_visitors_of_a_killed_process_go_on_with_another_and_stay_there(front, two):
    first, second = two.ports
    killed = two.pid(first)
    with (
        Session(front.url, headers=as_visitor_of(first)) as lost,
        Session(front.url, headers=as_visitor_of(second)) as other,
    ):
        assert head(lost.open("rope", SETTINGS)) == 3
        other.open("rope", "rope_head=2&lang=en")
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(StuckError):  # the connection ends, and the browser makes a new one
            lost.finished()
        seen = other.touch(other.seen.widget("number_input", "Head,"), double_value=1)
        assert head(seen) == 1  # who was elsewhere notices nothing
        with Session(front.url, headers=as_visitor_of(first)) as back:
            assert front.given(back.connection.response.headers) == second
            assert head(back.open("rope", SETTINGS)) == 3
            wait_until(lambda: two.warm(first), "the killed process is back and warm")
            assert two.pid(first) != killed
            session = back.open("real_models", "lang=en").session_id
            assert upload(front, session, second) == 204  # he stays where his session is
    wait_until(lambda: front.given(front.get("/", **as_visitor_of(first))[1]) is None, "it serves")
    assert f"the process on port {first} ended with -9" in two.log


def test_a_process_that_is_not_ready_takes_nobody(front, two):
    """Everything of a process that starts is 503, which sends the proxy to the next."""
    first, second = two.ports
    os.kill(two.pid(first), signal.SIGKILL)
    answers = []

    def ready():
        answers.append(front.given(front.get("/", **as_visitor_of(first))[1]))
        with Session(front.url, headers=as_visitor_of(first)) as visitor:
            answers.append(front.given(visitor.connection.response.headers))
        try:
            status = two.app(first).get("/")[0]
        except OSError:
            return False
        assert status in (200, 503)
        return status == 200

    wait_until(ready, "it is ready again")
    assert set(answers[:-2]) == {second}


@pytest.mark.parametrize("wrong", [{"MLA_WORKERS": "x"}, {"MLA_PROCESSES": "0"}])
def test_a_wrong_setting_ends_all_processes_with_its_sentence(wrong):
    environment = os.environ | {"MLA_PROCESSES": "2", "MLA_PORT": str(own_ports(2)[0])} | wrong
    ended = subprocess.run(
        [sys.executable, str(DEPLOY / "start.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert f"MLA Explorer cannot run: {next(iter(wrong))}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "started again" not in ended.stderr
