"""The guided tour: every stop opens with its whole state, and the way on leads to the next."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from ui.frame.rooms import PAGES
from ui.frame.tour import stops
from ui.settings.rooms import SETTINGS

Opened = Callable[..., AppTest]


def text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def test_a_stop_names_pages_and_settings_that_exist() -> None:
    assert len(stops()) == 15
    for stop in stops():
        assert stop.page in PAGES
        assert set(stop.say) == {"en", "zh"}
        for name, value in stop.own.items():
            assert SETTINGS[name].parse(text(value)) == value, name


@pytest.mark.parametrize("number", range(1, 16))
def test_every_stop_opens_from_its_link(opened: Opened, number: int) -> None:
    stop = stops()[number - 1]
    link = {name: text(value) for name, value in stop.link(number).items()}
    at = opened(PAGES[stop.page].file, **link)
    assert not at.error
    assert not at.warning
    said = [m.value for m in at.markdown if m.value.startswith(f"**Stop {number} of 15.**")]
    assert said == [f"**Stop {number} of 15.** {stop.say['en']}"]
    for name, value in stop.own.items():
        assert at.session_state["settings"][name] == value, name


def test_another_page_ends_the_tour(opened: Opened) -> None:
    at = opened("pages/claims.py", stop="1")
    assert at.session_state["settings"]["stop"] == 0
    assert not any(m.value.startswith("**Stop") for m in at.markdown)
