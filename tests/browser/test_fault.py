"""A page that fails, as a reader sees it; and that no page asks for what the headers forbid."""

import re

import pytest
from playwright.sync_api import expect

from tests.attacks.server import copied, running
from tests.browser.conftest import new_context
from tests.browser.looks import PHONE
from tests.browser.waiting import settle

pytestmark = pytest.mark.browser

FRAME = "with page.frame(PAGE) as frame:"
FAILS = f"""from ui.settings import state
{FRAME}
    if state.settings()['notation_search']: raise OSError('planted')"""
WITH_PARTS_OF_THEIR_OWN = ("?code=snippet", "attention_maps", "decode", "worked_example?stop=2")
REFERENCE = r"[0-9a-f]{8}"


def test_a_fault_is_one_sentence_with_two_ways_on(chromium, tmp_path):
    change = {"pages/notation.py": (FRAME, FAILS)}
    with running(root=copied(tmp_path, change)) as app:
        context = new_context(chromium, PHONE, "zh-CN")
        page = context.new_page()
        page.goto(f"{app.url}/notation?notation_search=x&n_heads=8")
        box = page.locator('[class*="st-key-fault_"]').first
        expect(box).to_contain_text(re.compile(REFERENCE))
        reference = re.search(REFERENCE, box.inner_text())[0]
        assert app.log.count(reference) == 1
        assert page.locator('[data-testid="stException"]').count() == 0
        seen = box.bounding_box()
        assert seen["y"] + seen["height"] <= PHONE["height"]
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        home = box.get_by_role("link")
        expect(home).to_have_attribute("href", re.compile(r"\?lang=zh$"))
        box.get_by_role("button", name="重新开始本页").click()
        expect(box).to_be_hidden()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert "notation_search" not in page.url

        page.goto(f"{app.url}/notation?notation_search=x&n_heads=8")
        home.click()
        expect(page).to_have_url(f"{app.url}/")  # Chinese is what this browser has anyway
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        context.close()


def test_no_page_asks_for_what_the_headers_forbid(app_url, browser_page):
    refused = []
    browser_page.on(
        "console",
        lambda said: refused.append(said.text) if "Content Security Policy" in said.text else None,
    )
    for address in WITH_PARTS_OF_THEIR_OWN:
        browser_page.goto(f"{app_url}/{address}")
        settle(browser_page)
    assert not refused
