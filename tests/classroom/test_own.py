"""Whoever has something of its own is drawn for alone; of the others nothing is overlooked."""

import re

import pytest
from streamlit.runtime.state.session_state import SessionState

from ui import ROOT
from ui.frame.story import ReturnPoint
from ui.parts.bridge import Clicker
from ui.server.classes.together import COMMON, _own


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("class_key", "k"),
        ("class_leads", "7KQMW3XD"),
        ("return_point", ReturnPoint("rope", {})),
        ("we_answered", {"u": True}),
        ("fault", "1234"),
        ("go", ("pages/rope.py", {})),
        ("clicker", Clicker("s", 3)),
        ("what nobody has thought of", 1),
    ],
)
def test_who_has_something_of_its_own_is_drawn_for_alone(name, value):
    state = SessionState()
    for common in COMMON:
        state[common] = "there"
    state["clicker"], state["we_answered"] = Clicker("s"), {}
    assert not list(_own(state))
    state[name] = value
    assert list(_own(state)) == [name]


def test_all_that_a_page_reads_of_a_browser_is_part_of_what_is_asked():
    files = [ROOT / "app.py", *ROOT.glob("pages/*.py"), *ROOT.glob("ui/**/*.py")]
    files.remove(ROOT / "ui/engine/job_owner.py")  # whose work it is, and nothing of the picture
    texts = [file.read_text("utf-8") for file in files]
    read = {name for text in texts for name in re.findall(r"st\.context\b\.?(\w*)", text)}
    assert read == {"locale", "url", "headers"}  # of `headers`, whether there are any
