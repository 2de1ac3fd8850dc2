"""A press on a cell may come twice, late or broken; what a widget said before does not undo it."""

import pytest
from streamlit.testing.v1 import AppTest

from tests import patience


def page() -> None:
    import streamlit as st

    from ui.parts import cells
    from ui.settings import state

    chosen = st.session_state.setdefault("chosen", [])
    settings = st.session_state.setdefault("settings", {"lang": "en", "map_query": 0})

    def choose(cell: dict) -> None:
        chosen.append(cell["y"])
        settings["map_query"] = cell["y"]

    cells.take(st.session_state.get("said"), choose)
    st.session_state.key = state.key("map_query")


def told(said: object, at: AppTest | None = None) -> AppTest:
    at = at or AppTest.from_function(page, default_timeout=patience.SECONDS)
    at.session_state["said"] = said
    at.run()
    assert not at.exception
    return at


def test_a_press_that_comes_twice_or_late_changes_nothing():
    at = told({"press": 5, "y": 3})
    for again in (5, 4):
        told({"press": again, "y": 9}, at)
    assert at.session_state["chosen"] == [3]
    told({"press": 6, "y": 7}, at)
    assert at.session_state["chosen"] == [3, 7]


def test_what_is_chosen_has_a_new_widget():
    at = told(None)
    keys = {at.session_state["key"]}
    for press in (1, 2):
        keys.add(told({"press": press, "y": press}, at).session_state["key"])
    assert len(keys) == 3
    assert told({"press": 3, "y": 2}, at).session_state["key"] in keys, "nothing has changed"


@pytest.mark.parametrize("said", [1, "x", {}, {"y": 1}, {"press": "2", "y": 1}, {"press": True}])
def test_what_is_no_press_chooses_nothing(said):
    assert told(said).session_state["chosen"] == []
