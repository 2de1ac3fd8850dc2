"""The tools that wait: a page knows what it has asked of its server, and what has come of it."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Show
from tests.browser.waiting import settle, until, walk

pytestmark = pytest.mark.browser
NOTED = """() => {
    window.noted = [window.unanswered];
    Object.defineProperty(window, "unanswered", {
        get: () => window.noted.at(-1),
        set: (state) => window.noted.push(state),
    });
}"""


def test_what_was_asked_is_answered_when_a_page_has_settled(show: Show) -> None:
    page = show("notation?notation_of=cached&lang=en")
    before = page.locator("h1").inner_text()
    page.evaluate(NOTED)
    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    settle(page)
    noted = page.evaluate("window.noted")
    assert (noted[0], noted[1], noted[-1]) == ("", "asked", "")
    assert "begun" in noted
    assert page.locator("h1").inner_text() != before


def shown(page: Page) -> list[str]:
    return [page.url, page.locator("h1").inner_text(), page.get_by_test_id("stMain").inner_text()]


def test_a_walk_shows_what_opening_the_address_does(app_url: str, browser_page: Page) -> None:
    page, addresses = browser_page, ("notation?lang=zh", "rope?rope_key=6&lang=en")
    walk(page, f"{app_url}/claims")
    for address in addresses:
        walk(page, f"{app_url}/{address}")
        walked = shown(page)
        page.goto(f"{app_url}/{address}")
        settle(page)
        assert walked == shown(page)


def test_what_comes_late_is_waited_for(browser_page: Page) -> None:
    page = browser_page
    page.set_content("<p>early</p>")
    page.evaluate("setTimeout(() => document.body.append('late'), 50)")
    found = until(page, lambda: page.inner_text("body"), lambda text: "late" in text)
    assert found.split() == ["early", "late"]
