"""Pictures that move in the browser: what the server makes of what it is told."""

from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from ui.parts import motion

Opened = Callable[..., AppTest]
SMALL = {"preset": "small", "rope_query": "9", "rope_key": "4"}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, opened: Opened) -> Callable[[object], AppTest]:
    """`told(message)` is the page on rotations after its picture has said this."""
    messages, turns = [], []

    def drawn(key: str, data: dict[str, Any], on_told_change: Callable[[], None]) -> None:
        turns.append(data["turn"])
        if messages:
            st.session_state[key] = {"told": messages.pop()}
            on_told_change()

    monkeypatch.setattr(motion, "_component", lambda picture: drawn)

    def tell(message: object) -> AppTest:
        at = opened("pages/rope.py", **SMALL)
        messages.append(message)
        at.run()
        at.run()
        assert not at.exception
        at.turn = turns[-1]
        return at

    return tell


def places(at: AppTest) -> tuple[int, int, int]:
    settings = at.session_state["settings"]
    return settings["rope_query"], settings["rope_key"], at.turn


def test_where_a_picture_comes_to_rest_is_the_setting_and_the_link(told):
    at = told({"at": [12, 0], "turn": 3})
    assert places(at) == (12, 0, 3)
    assert at.query_params == SMALL | {"rope_query": "12", "rope_key": "0"}


@pytest.mark.parametrize(
    "message",
    [
        None, "12", 7, [12, 0], {}, {"at": None, "turn": 1}, {"at": "12", "turn": 1},
        {"at": [12], "turn": 1}, {"at": [12, 0, 0], "turn": 1}, {"at": [16, 0], "turn": 1},
        {"at": [-1, 0], "turn": 1}, {"at": [1.5, 0], "turn": 1}, {"at": [True, 0], "turn": 1},
        {"at": [None, 0], "turn": 1}, {"at": [[1], 0], "turn": 1}, {"at": [10**30, 0], "turn": 1},
    ],
)  # fmt: skip
def test_what_a_browser_cannot_mean_changes_nothing(told, message):
    assert places(told(message))[:2] == (9, 4)


@pytest.mark.parametrize("turn", [None, True, -1, 2**31, 1.0, "1", [1]])
def test_how_often_it_was_told_is_a_count(told, turn):
    assert places(told({"at": [16, 0], "turn": turn})) == (9, 4, 0)


def test_what_is_told_of_other_places_is_answered_with_those_there_are(told):
    assert places(told({"at": [16, 0], "turn": 2})) == (9, 4, 2)
