"""Class mode in the pages: who is in a room stays in it, and a lecturer has what can be asked."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui import screen
from ui import ROOT
from ui.classroom import questions
from ui.frame.pages import PAGES
from ui.settings.page import SETTINGS

CODE = "7KQMW3XD"
ASKING = {  # pages with a question, and what opens them with one
    "overview": {},
    "attention_maps": {"preset": "deepseek-v2-lite"},
    "rope": {},
    "absorption": {},
    "compression": {},
    "sparse": {},
    "kv_cache": {},
    "decode": {},
    "compute": {},
    "compare": {"vs_view": "flow"},
    "planner": {},
    "quiz": {"quiz_number": "2"},
}


def components(at: AppTest) -> list[str]:
    return [one.proto.component_name for one in at.get("bidi_component")]


def led(at: AppTest) -> AppTest:
    """Return the page once its browser has said that it has the class's key."""
    at.session_state[questions.LEADS] = CODE
    at.run()
    assert not at.exception
    return at


def test_a_lone_visitor_has_a_button_and_nothing_else(opened, monkeypatch):
    at = opened()
    assert at.button(key="class_door").label == "Class"
    assert not {"classroom", "class_offer"} & set(components(at))
    for closed in ({"MLA_ROOMS": "0"}, {"MLA_PROCESSES": "2"}):  # which know of no common room
        with monkeypatch.context() as patch:
            for name, value in closed.items():
                patch.setenv(name, value)
            assert "class_door" not in [button.key for button in opened().button]
    monkeypatch.setenv("MLA_PROCESSES", "2")
    monkeypatch.setenv("MLA_REDIS_URL", "redis://localhost:1/0")
    assert opened().button(key="class_door")


def test_who_is_in_a_room_tells_where_they_are_without_what_is_their_own(opened):
    at = opened("pages/kv_cache.py", room="7kqm-w3xd", lang="zh", lecture="1", kv_view="memory")
    data = screen.component(at, "classroom")
    assert data["code"] == CODE
    assert data["here"] == {"page": "kv_cache", "query": {"kv_view": "memory"}}
    assert not data["leads"]
    assert not {"key", "qr", "link"} & set(data)
    assert data["texts"]["look"] == "自己看看"
    assert at.query_params["room"] == CODE
    assert SETTINGS["room"].personal  # so it is in no link for others


def test_the_room_goes_along_to_other_pages_and_through_the_story(opened):
    at = opened("pages/compute.py", room=CODE, n_heads="8")
    links = [link.proto.query_string for link in at.sidebar.get("page_link")]
    assert links
    assert all(f"room={CODE}" in link for link in links)
    at.button(key="story_start").click().run()
    assert at.query_params["room"] == CODE
    assert at.session_state["settings"]["stop"] == 1
    at.button(key="story_leave").click().run()
    settings = at.session_state["settings"]
    assert (at.session_state["page"], settings["room"], settings["n_heads"]) == ("compute", CODE, 8)
    at.button(key="reset_all").click().run()
    assert at.session_state["settings"]["room"] == CODE


def test_a_code_that_cannot_be_is_told(opened):
    at = opened(room="not a code")
    assert "room" in at.warning[0].value
    assert "classroom" not in components(at)


@pytest.mark.parametrize("page", ASKING)
def test_a_lecturer_can_ask_what_a_page_asks_in_every_language(opened, page):
    at = opened(PAGES[page].file, room=CODE, **ASKING[page])
    assert "class_offer" not in components(at)
    led(at)
    offer = screen.component(at, "class_offer")["offer"]
    assert questions.opened(offer["text"], offer["seal"]) == offer["text"]
    question = json.loads(offer["text"])
    english, chinese = question["words"]["en"], question["words"]["zh"]
    assert english["asks"] != chinese["asks"]
    assert english["why"] != chinese["why"]
    assert len(english["answers"]) == len(chinese["answers"]) > 1
    assert 0 <= question["right"] <= len(english["answers"]) - 1
    if not question["scale"]:
        assert english["true"] == english["answers"][question["right"]]
    assert at.session_state["settings"]["lang"] == "en"


def test_what_is_asked_is_what_the_page_asks_and_in_a_lecture_too(opened):
    at = led(opened("pages/decode.py", room=CODE))
    card = screen.component(at, "guess")
    asked = json.loads(screen.component(at, "class_offer")["offer"]["text"])
    assert asked["words"]["en"]["asks"] == card["asks"]
    assert asked["words"]["en"]["answers"] == card["answers"]
    assert asked["right"] == card["right"]
    hall = led(opened("pages/decode.py", room=CODE, lecture="1"))
    assert "guess" not in components(hall)
    assert json.loads(screen.component(hall, "class_offer")["offer"]["text"]) == asked


def test_every_page_that_asks_a_guess_can_ask_a_class():
    files = {name: [ROOT / page.file, *ROOT.glob(f"ui/pages/{name}/*.py")]
             for name, page in PAGES.items()}  # fmt: skip
    asking = {name for name, parts in files.items()
              if any("questions.ask(" in part.read_text("utf-8") for part in parts)}  # fmt: skip
    assert asking | {"quiz"} == set(ASKING)


def test_what_is_drawn_is_put_on_a_scale_and_hides_the_chart(opened):
    at = led(opened("pages/compression.py", room=CODE))
    card = screen.component(at, "guess")
    asked = json.loads(screen.component(at, "class_offer")["offer"]["text"])
    assert card["drawing"]
    assert not card["answers"]
    assert not card["of_class"]  # what is right is told once
    assert asked["guess"] == card["key"]
    assert "Drag" not in asked["words"]["en"]["asks"]
    assert asked["words"]["en"]["why"] == card["why"]
    assert {"cmp-one_cache", "lead", "one_cache_said", "one_cache_written"} <= set(asked["hides"])


def test_a_page_without_a_question_says_so(opened):
    assert screen.component(led(opened("pages/notation.py", room=CODE)), "class_offer") == {
        "offer": None
    }


def test_a_lecturer_gets_the_code_for_the_hall(opened):
    data = screen.component(led(opened(room=CODE, stop="0")), "classroom")
    assert data["leads"]
    assert data["link"].endswith(f"/?room={CODE}")
    assert data["spaced"] == "7KQM-W3XD"
    assert 'src="data:image/svg+xml' in data["qr"]
