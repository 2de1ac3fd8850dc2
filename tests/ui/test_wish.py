"""A wish is a place, not a press: it may come late, twice, or name what there is not."""

import pytest

from tests.ui.controls import pressed
from tests.ui.screen import component, says
from tests.ui.wishes import wish
from ui.frame.story import steps
from ui.frame.wish import MOST, STOPS, STORY

WE = "pages/worked_example.py"
STEP = {"we_completed": "0", "lang": "en"}


def step(at) -> int:
    return at.session_state["settings"]["we_step"]


def answer(at) -> dict:
    """Return what the browser is told of its wishes, and of where the page is."""
    told = component(at, "wish")
    return {name: told[name] for name in ("number", "shown", "at", "pages")}


def warned(at) -> str:
    return " ".join(one.value for one in at.warning)


def test_the_same_message_twice_changes_nothing(opened):
    at = opened(WE, **STEP)
    for _ in range(3):
        wish(at, "5", number=7)
        assert step(at) == 5
    at.slider(key="we_step:1").set_value(9)
    wish(at, "5", number=7)
    assert step(at) == 9, "the reader has moved on since"


def test_an_older_message_changes_nothing(opened):
    at = opened(WE, **STEP)
    wish(at, "5", number=7)
    wish(at, "3", number=6)
    assert step(at) == 5


def test_as_many_stops_as_a_wish_may_have_are_taken(opened):
    at = opened(WE, **STEP)
    wish(at, *["2"] * (STOPS - 1), "3")
    assert step(at) == 3


def test_the_answer_says_which_wish_is_shown_and_where(opened):
    at = opened(WE, **STEP)
    assert answer(at) == {"number": 0, "shown": 0, "at": 0, "pages": []}
    wish(at, "999", number=7)
    assert answer(at) == {"number": 7, "shown": 7, "at": 21, "pages": []}
    at.slider(key="we_step:1").set_value(9).run()
    assert answer(at) == {"number": 7, "shown": 0, "at": 8, "pages": []}


def test_an_older_value_of_a_widget_undoes_no_wish(opened):
    at = opened(WE, **STEP)
    stale = at.slider(key="we_step")
    for n in (2, 3):
        stale.set_value(1)
        wish(at, str(n))
        assert step(at) == n
    at.session_state["we_step"] = 1  # a message from before the answer, of something else
    at.run()
    assert step(at) == 3


def test_a_wish_leads_to_another_page_of_a_lecture_and_keeps_what_is_set(opened):
    at = opened("pages/compute.py", lecture="1", n_heads="8")
    wish(at, page="kv_cache")
    assert at.session_state["page"] == "kv_cache"
    assert at.session_state["settings"]["n_heads"] == 8
    wish(at, "parallel")
    assert at.query_params["kv_view"] == "parallel"
    assert at.query_params["lecture"] == "1"


@pytest.mark.parametrize(
    ("given", "used"), [("999", "22"), ("-3", "1"), ("9" * 9000, "22"), ("x<b>", "4"), ("", "4")]
)
def test_a_stop_that_there_is_not_is_the_nearest_and_told_once(opened, given, used):
    at = opened(WE, **STEP, we_step="4", we_h="1; 0.5; 0; 0")
    wish(at, given)
    assert step(at) == int(used)
    assert len(at.warning) == 1
    assert f"showing {used} instead." in warned(at)
    assert at.query_params["we_h"] == "1; 0.5; 0; 0"
    assert "<b>" not in warned(at)
    at.run()
    assert not at.warning, "it is told once"


def test_a_page_that_there_is_not_stays_away(opened):
    at = opened(WE, **STEP, we_step="4")
    wish(at, "3", page="nowhere")
    assert (at.session_state["page"], step(at)) == ("worked_example", 4)
    assert "nowhere" in warned(at)


@pytest.mark.parametrize(
    "said",
    [
        {"number": 1, "page": "worked_example", "stops": "2"},
        {"number": True, "page": "worked_example", "stops": ["2"]},
        {"number": MOST + 1, "page": "worked_example", "stops": ["2"]},
        {"number": 1, "page": 7, "stops": ["2"]},
        {"number": 1, "page": "worked_example", "stops": [["2"]]},
        {"number": 1, "page": "worked_example", "stops": ["2"] * 41},
        ["worked_example", "2"],
    ],
)
def test_a_message_of_anything_else_is_passed_over(opened, said):
    at = opened(WE, **STEP, we_step="4")
    at.session_state["wish"] = {"wish": said}
    at.run()
    assert step(at) == 4
    assert not at.warning


def test_in_the_story_a_wish_is_a_step_of_any_page(opened):
    at = opened("pages/absorption.py", stop="24")
    last = len(steps())
    for given, used in (("25", 25), ("3", 3), (str(last + 9), last)):
        wish(at, given, page=STORY)
        assert at.session_state["settings"]["stop"] == used
        assert at.session_state["page"] == steps()[used - 1].page
    assert says(warned(at), "common.changed_setting", given=last + 9, used=last)


def test_a_reader_who_has_moved_on_in_the_story_stays_there(opened):
    at = opened("pages/absorption.py", stop="24")
    wish(at, "3", page=STORY, number=7)
    assert answer(at) == {"number": 7, "shown": 7, "at": 2, "pages": []}
    pressed(at, "story_next")
    assert answer(at) == {"number": 7, "shown": 0, "at": 3, "pages": []}
    assert at.session_state["settings"]["stop"] == 4


def test_a_wish_from_before_the_story_leaves_it_as_it_is(opened):
    at = opened("pages/absorption.py", stop="24")
    wish(at, page="kv_cache")
    assert at.session_state["settings"]["stop"] == 24
    assert at.session_state["page"] == "absorption"
