"""A full server in a real browser: the place in line, in the reader's words, then the app."""

import pytest
from playwright.sync_api import expect

from tests.attacks.client import Session
from tests.attacks.server import running
from tests.browser.conftest import new_context
from tests.browser.waiting import settle
from tests.ui.screen import says

pytestmark = pytest.mark.browser


def test_who_finds_no_seat_waits_and_is_let_in(chromium):
    with running({"MLA_MOST_VISITORS": "2"}) as app, Session(app.url) as sitting:
        sitting.open()
        first = new_context(chromium).new_page()
        first.goto(f"{app.url}/rope?rope_key=6&lang=zh")
        settle(first)
        english, chinese = (
            new_context(chromium, locale=locale).new_page() for locale in ("en-US", "zh-CN")
        )
        english.goto(f"{app.url}/decode?seed=3")
        assert says(english.get_by_role("status").inner_text(), "waiting.place", place="1")
        chinese.goto(f"{app.url}/decode")
        assert chinese.get_by_role("status").inner_text() == "你排在第 2 位"
        assert not english.get_by_test_id("stApp").count()
        first.reload()  # who is in stays in
        settle(first)
        assert "rope_key=6" in first.url
        assert says(english.get_by_role("status").inner_text(), "waiting.place", place="1")
        sitting.close()
        expect(english.get_by_test_id("stApp")).to_be_visible()
        settle(english)
        assert english.url == f"{app.url}/decode?seed=3"
        expect(chinese.get_by_role("status")).to_have_text("你排在第 1 位")
        first.context.close()
        expect(chinese.get_by_test_id("stApp")).to_be_visible()
        assert app.log.count("Traceback") == 0
        for page in (english, chinese):
            page.context.close()
