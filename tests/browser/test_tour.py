"""The guided tour by a lecturer's clicker, from the first stop to the last and back."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waiting import settle
from ui.frame.tour import stops

pytestmark = pytest.mark.browser


def test_the_clicker_walks_the_whole_tour(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/?n_heads=8")
    settle(page)
    page.get_by_role("button", name="Guided tour, 15 stops").click()
    for number, stop in enumerate(stops(), start=1):
        expect(page.locator(".st-key-tour_bar")).to_contain_text(f"Stop {number} of 15")
        expect(page.locator(".st-key-tour_bar")).to_contain_text(stop.say["en"][:40])
        settle(page)
        if number < 15:
            page.keyboard.press("PageDown")
    assert "/quiz" in page.url
    page.keyboard.press("PageUp")
    expect(page.locator(".st-key-tour_bar")).to_contain_text("Stop 14 of 15")
    settle(page)
    page.reload()
    settle(page)
    expect(page.locator(".st-key-tour_bar")).to_contain_text("Stop 14 of 15")
    page.locator(".st-key-tour_leave").get_by_role("button").click()
    expect(page.locator(".st-key-tour_bar")).to_have_count(0)
    assert "stop=" not in page.url


def test_back_undoes_a_jump_in_one_press(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/?n_heads=8")
    settle(page)
    page.get_by_role("button", name="Guided tour, 15 stops").click()
    page.wait_for_url("**stop=1**")
    settle(page)
    page.go_back()
    page.wait_for_url(f"{app_url}/?n_heads=8")
    settle(page)
    expect(page.locator(".st-key-tour_bar")).to_have_count(0)
    assert page.url == f"{app_url}/?n_heads=8"


def test_back_undoes_a_stop_on_another_page_in_one_press(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/compute?preset=deepseek-v3&stop=12")
    settle(page)
    page.wait_for_function("!!(document.mlaClicker && document.mlaClicker.send)")
    page.keyboard.press("PageDown")
    page.wait_for_url(f"{app_url}/compression?stop=13")
    settle(page)
    page.go_back()
    expect(page.locator(".st-key-tour_bar")).to_contain_text("Stop 12 of 15")
    settle(page)
    assert page.url == f"{app_url}/compute?preset=deepseek-v3&stop=12"
    page.go_forward()
    expect(page.locator(".st-key-tour_bar")).to_contain_text("Stop 13 of 15")
    settle(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Claims").click()
    page.wait_for_url("**/claims**")
    settle(page)
    page.go_back()
    page.wait_for_url("**/compression**")
