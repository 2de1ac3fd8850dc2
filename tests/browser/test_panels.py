"""A panel in a frame of somebody else's page, by the code that its own menu gives."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_the_code_of_the_menu_draws_the_figure_in_a_frame(show, app_url):
    page: Page = show("?panel=kv_cache.context&embed=1&kv_context=4096")
    expect(page.get_by_test_id("stSidebar")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/kv_cache\?panel=kv_cache\.context"))
    page.get_by_test_id("stPopover").get_by_role("button").click()
    code = page.locator(".panel-menu textarea")
    expect(code).to_have_value(re.compile("^<iframe"))
    written = code.input_value()
    with page.expect_download() as saved:
        page.locator("[data-take=png]").click()
    assert saved.value.suggested_filename.endswith(".png")
    page.goto(f"{app_url}/healthz")  # a page of the same site, which may frame it
    page.set_content(f"<h1>A course</h1>{written}")
    frame = page.frame_locator("iframe")
    slider = frame.locator(".st-key-kv_context input[type=range]")
    expect(slider).to_have_attribute("aria-valuetext", "4,096")
    number = frame.locator(".st-key-lead p").first
    before = number.inner_text()
    slider.press("ArrowRight")
    expect(number).not_to_have_text(before)
