"""Every control of every page changes what the page shows, and only its own setting.

And where too many wait for their turn, a page says so and its controls stay.
"""

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import open_page
from tests.ui.controls import controls, link
from tests.ui.screen import everything, lead, says
from tests.ui.test_page_contract import VIEWS
from ui.engine import shared_cache
from ui.engine.queue import Queue
from ui.frame.pages import PAGES
from ui.parts import statements
from ui.settings.shared import SIZES

ELSEWHERE = {"lang", "code", "ask"}  # on every page: test_texts, test_code and test_guess
OTHER = {  # what no label can be set by
    "preset": "small",
    "variant": "mha",
    "th_head": "0.0",
    "claims_verdict": "fails",
    "claims_source": "N",
    "quiz_choice": 1,
}
NAMES = {"trained_layer_beside": "trained_layer", "am_story": "am_model"}  # second controls
ALSO = {"we_fade": {"we_step", "we_row", "we_column"}}  # goes to the first cell that is asked for
# Pages of only formulas, which wait for nobody.
AT_ONCE = {
    *("overview", "worked_example", "real_models", "compute", "after_mla"),
    *("planner", "notation"),
}


def turned(widget: Any, name: str) -> object:
    """Return another value of a control: the next option, one step more, or off for on."""
    if name in OTHER:
        return OTHER[name]
    if widget.type == "toggle":
        return not widget.value
    if widget.type in ("slider", "number_input"):
        return widget.value + widget.step * (1 if widget.value < (widget.max or 1) else -1)
    shown = widget.format_func(widget.value)
    place = widget.options.index(shown)
    label = widget.options[place + 1 if place + 1 < len(widget.options) else place - 1]
    if widget.type == "select_slider" and not isinstance(widget.value, str):
        return type(widget.value)(re.sub(r"[^\d.]", "", label))
    return label


def shown(at: AppTest) -> list[str]:
    """Return all that the page shows but its own address and the random names of a run."""
    return [text for text in everything(at) if not re.search(r"lang=en|^[0-9a-f]{32}$", text)]


@pytest.mark.parametrize("page", PAGES)
def test_a_control_changes_what_is_shown_and_its_own_setting_alone(page):
    tried = ELSEWHERE if page == "overview" else {*ELSEWHERE, *SIZES}
    for parameters in [given for name, given in VIEWS if name == page]:
        at = open_page(PAGES[page].file, **parameters)
        found = {name: one.type for name, one in controls(at).items() if name not in tried}
        turnable = [name for name, kind in found.items() if not kind.startswith("text")]
        for place, name in enumerate(turnable):
            at = open_page(PAGES[page].file, **parameters) if place else at
            before, was = shown(at), link(at)
            widget = controls(at)[name]
            widget.set_value(turned(widget, name)).run()
            now = link(at)
            changed = {one for one in {*was, *now} if was.get(one) != now.get(one)}
            assert not at.exception
            assert changed - ALSO.get(name, set()) == {NAMES.get(name, name)}
            assert shown(at) != before, name
        tried = {*tried, *found}


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty the cache and let no work join the line."""
    empty = shared_cache.SharedCache(2**30, 1000)
    monkeypatch.setattr(shared_cache, "cache", lambda: empty)
    monkeypatch.setattr(shared_cache, "engine", lambda: empty)
    monkeypatch.setattr(statements, "checked", statements.checked.__wrapped__)
    monkeypatch.setattr("ui.engine.queue._queue", lambda: Queue(-1, 1))


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("page", PAGES)
def test_a_full_line_is_said_and_the_controls_stay(page):
    at = open_page(PAGES[page].file)
    assert at.title
    assert len(controls(at)) > 1
    said = {"pieces of work are waiting" in error.value for error in at.error}
    assert said == (set() if page in AT_ONCE else {True})


def test_a_full_line_is_said_where_the_lead_is_known(request):
    known = open_page("pages/sparse.py")
    request.getfixturevalue("full")
    at = open_page("pages/sparse.py")
    assert lead(at) == lead(known)
    assert says(at.error[0].value, "refused.waiting")
    assert {*controls(at)} == {*controls(known)}
