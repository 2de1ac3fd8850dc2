"""Decoding in a browser: blocks of the right width, play and pause, a clicker, a phone."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waiting import frames, settle, wider

pytestmark = pytest.mark.browser

SMALL = (
    "preset=small&d_model=64&n_heads=4&n_kv_heads=2&d_head=16&d_value=16&d_latent_kv=32"
    "&d_latent_q=48&d_rope=8"
)
BLOCKS = """() => document.querySelector(".js-plotly-plot")._fullData.filter(t => t.type === "bar")
    .map(t => Array.from(t.x))"""


def test_caches_grow_by_play_and_by_clicker(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/decode?{SMALL}&dec_speed=fast&dec_step=5")
    settle(page)
    table = page.get_by_test_id("stTable")
    expect(table).not_to_contain_text("…")
    blocks = page.evaluate(BLOCKS)
    per_token = [4 * n for n in (2 * 4 * 16, 2 * 2 * 16, 2 * 16, 4 * 40, 40, 40)]
    assert blocks == [[8 * n for n in per_token], *[per_token] * 5]

    page.keyboard.press("PageDown")
    page.wait_for_url("**dec_step=6**")
    page.get_by_role("button", name="Play").click()
    page.wait_for_url(lambda url: "dec_step=7" in url)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    settle(page)
    here = page.url
    frames(page, 90)
    assert page.url == here, "paused"
    expect(table).not_to_contain_text("…")

    page.set_viewport_size({"width": 390, "height": 844})
    assert wider(page, "h1, p, table, .js-plotly-plot", 390) == []


def test_a_long_prompt_can_be_cancelled_and_run_again(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/decode?dec_prompt=1024&seed=41")
    # At once: a busy browser may take longer to see it stand still than the run lasts.
    page.get_by_role("button", name="Cancel").dispatch_event("click")
    run = page.get_by_role("button", name="Run this step")
    expect(run).to_be_visible()
    expect(page.get_by_test_id("stTable")).to_contain_text("…")
    run.click()
    expect(run).to_be_hidden()
    expect(page.get_by_test_id("stTable")).not_to_contain_text("…")
