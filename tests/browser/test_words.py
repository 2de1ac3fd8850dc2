"""The words that a newcomer meets above the fold of a laptop's screen, at the defaults."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.waiting import walk
from ui.frame.rooms import PAGES
from ui.settings.page import HOME

pytestmark = pytest.mark.browser
WORDS = Path(__file__).with_name("words.js").read_text("utf-8")
LAPTOP = {"width": 1440, "height": 900}
MOST = 60


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_little_before_its_picture(reader: Page, app_url, name):
    reader.set_viewport_size(LAPTOP)
    walk(reader, f"{app_url}/{'' if name == HOME else name}")
    words = reader.evaluate(WORDS)
    assert len(words) <= MOST, " ".join(words)
