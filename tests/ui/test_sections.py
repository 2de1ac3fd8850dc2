"""Sections wait for the reader where a browser tells of them, and only there."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.screen import charts
from tests.ui.test_story import link
from ui.frame.story import steps
from ui.parts import sections
from ui.settings.rooms import PAGES

HEAVY = {"absorption": 4, "attention_maps": 2, "compression": 4, "compute": 5, "planner": 3}
SMALL = {"preset": "small"}


@pytest.fixture
def scrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sections wait, as where somebody looks at the page."""
    monkeypatch.setattr(sections, "watched", lambda: True)


def waiting(at: AppTest) -> list[str]:
    """Return the names of the sections whose place is held."""
    sent = [e.proto for e in at.get("bidi_component") if e.proto.component_name == "section"]
    return [proto.id.partition("section_")[2] for proto in sent]


@pytest.mark.parametrize("name", HEAVY)
def test_a_page_alone_shows_all_and_one_in_a_browser_its_top(opened, monkeypatch, name):
    whole = opened(PAGES[name].file, **SMALL)
    assert not waiting(whole)
    monkeypatch.setattr(sections, "watched", lambda: True)
    top = opened(PAGES[name].file, **SMALL)
    assert len(waiting(top)) == HEAVY[name]
    shown, every = ([chart.alt for chart in charts(at)] for at in (top, whole))
    assert 0 < len(shown) < len(every)
    assert shown == every[: len(shown)]
    assert not top.error


@pytest.mark.usefixtures("scrolled")
def test_a_section_that_was_reached_stays_until_the_page_is_left(opened):
    at = opened("pages/absorption.py", **SMALL)
    every = waiting(at)
    at.session_state["reached"] = ("absorption", set(every[:1]))
    at.run()
    assert waiting(at) == every[1:]
    assert "absorption" in at.session_state["reached"][0]
    at.switch_page("pages/compute.py").run()
    at.switch_page("pages/absorption.py").run()
    assert waiting(at) == every


@pytest.mark.usefixtures("scrolled")
@pytest.mark.parametrize(
    "number", [n for n, step in enumerate(steps(), start=1) if step.page in HEAVY]
)
def test_what_a_step_of_the_story_is_about_is_there_at_once(opened, number):
    step = steps()[number - 1]
    at = opened(PAGES[step.page].file, **link(number))
    ids = [str(getattr(getattr(element, "proto", None), "id", "")) for element in at.main]
    for key in step.look:
        assert any(one.endswith(f"-{key}") for one in ids), key


@pytest.mark.usefixtures("scrolled")
def test_a_control_of_a_section_runs_the_whole_page(opened):
    at = opened("pages/absorption.py", **SMALL)
    at.session_state["reached"] = ("absorption", set(waiting(at)))
    at.run()
    next(g for g in at.button_group if g.key == "ab_type:en").set_value("float64").run()
    assert dict(at.query_params)["ab_type"] == "float64"
    assert not at.exception
