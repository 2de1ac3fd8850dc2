"""A process is killed and starts anew, which knows nothing: real browsers are where they were."""

import os
import signal
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.attacks.server import running
from tests.browser.conftest import new_context
from tests.browser.waiting import settle

pytestmark = pytest.mark.browser


def moved_slider(page: Page, url: str) -> None:
    page.goto(f"{url}/rope?lang=en")
    settle(page)
    before = page.url
    page.get_by_test_id("stMain").get_by_test_id("stSlider").get_by_role("slider").first.press(
        "End"
    )
    page.wait_for_url(lambda url: url != before)


def edited_matrix(page: Page, url: str) -> None:
    page.goto(f"{url}/worked_example?lang=en&we_step=4")
    settle(page)
    edits = page.get_by_test_id("stExpander").locator("summary").last
    edits.click()
    box = page.get_by_role("textbox", name="W_DKV (2 × 4)")
    box.fill("1 2 3 4; 5 6 7 8")
    box.press("Enter")
    page.wait_for_url("**we_W_DKV*")
    edits.click()


def chosen_sentence(page: Page, url: str) -> None:
    page.goto(f"{url}/attention_maps?lang=zh&preset=small")
    settle(page)
    box = page.get_by_role("textbox").first
    box.fill("一 二 三 四")
    box.press("Control+Enter")
    page.wait_for_url("**map_text*")


def step_of_the_story(page: Page, url: str) -> None:
    page.goto(f"{url}/?lang=en")
    settle(page)
    page.get_by_role("button", name="Tell me the story").first.click()
    page.wait_for_url("**stop=1*")
    settle(page)
    page.locator(".st-key-story_next button").first.click()
    page.wait_for_url("**stop=2*")


def predicted_answer(page: Page, url: str) -> None:
    page.goto(f"{url}/quiz?lang=en&quiz_seed=7")
    settle(page)
    page.get_by_test_id("stMain").locator("[role=radiogroup] label").first.click()
    page.wait_for_url("**quiz_choice*")


EDITS = (moved_slider, edited_matrix, chosen_sentence, step_of_the_story, predicted_answer)
SHOWN = """() => document.querySelector('[data-testid=stMain]').innerText.replace(/\\s+/g, ' ')"""


def test_a_killed_process_comes_back_and_nobody_has_lost_anything(chromium: Browser) -> None:
    context = new_context(chromium)
    with running() as app:
        pages = []
        for edit in EDITS:
            pages.append(page := context.new_page())
            edit(page, app.url)
            settle(page)
        before = [(page.url, page.evaluate(SHOWN)) for page in pages]
        os.killpg(app.process.pid, signal.SIGKILL)
        for page in pages:
            expect(page.get_by_test_id("stApp")).not_to_have_attribute(
                "data-test-connection-state", "CONNECTED"
            )
        with running(port=urlparse(app.url).port) as again:
            for page, (url, shown) in zip(pages, before, strict=True):
                page.bring_to_front()
                settle(page)
                assert page.url == url
                assert page.evaluate(SHOWN) == shown
                page.reload()
                settle(page)
                assert page.url == url
                assert page.evaluate(SHOWN) == shown
            assert "Traceback" not in again.log
    context.close()
