"""The frame in a real browser: settings survive navigation, language, Back and reload."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import PHONE
from tests.browser.waiting import door, frames, settle

STYLED = "UpdateLayoutTree"  # the browser's name of it
# Where the title, the number and the chart have stood, frame by frame, since each was first there.
STOOD = """addEventListener("DOMContentLoaded", () => {
  window.stood = { h1: [], ".st-key-lead": [], ".st-key-roof": [] };
  const look = () => {
    for (const [selector, places] of Object.entries(stood)) {
      const box = document.querySelector(`.stMain ${selector}`)?.getBoundingClientRect();
      const place = selector === ".st-key-roof" ? box?.height : box && `${box.x}, ${box.y}`;
      if (box && place !== places.at(-1)) places.push(place);
    }
    requestAnimationFrame(look);
  };
  look();
})"""

pytestmark = pytest.mark.browser


def test_settings_survive_navigation_back_reload_and_language(show, app_url):
    page = show("?n_heads=8&d_rope=32")
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.get_by_text("中文").click()
    page.wait_for_url("**lang=zh**")
    chip = page.locator(".st-key-model_chip")
    expect(chip).to_contain_text("d 2,048 · 8 个头 · 潜在 512 + 32")
    settle(page)
    assert "n_heads=8" in page.url

    door(page, "KV 缓存").click()
    page.wait_for_url("**/kv_cache**")
    settle(page)
    assert "n_heads=8" in page.url
    assert "d_rope=32" in page.url

    page.go_back()
    page.wait_for_url(f"{app_url}/?*")
    settle(page)
    page.reload()
    settle(page)
    expect(chip).to_contain_text("8 个头")
    assert "n_heads=8" in page.url


def test_a_bookmark_of_a_page_that_another_took_in_opens_there(show):
    page = show("quality?quality_task=copy&quality_kept=192&lang=zh")
    expect(page).to_have_url(re.compile(r"/compression\?"))
    assert {"quality_task=copy", "cmp_kept=192", "lang=zh"} <= {
        *page.url.partition("?")[2].split("&")
    }
    expect(page.locator("h1")).to_have_text("缓存变小，代价有多大？")
    expect(page.locator(".st-key-cmp_kept")).to_contain_text("192")


def test_what_is_drawn_first_stands_where_it_stays(browser_page, app_url):
    browser_page.set_viewport_size({"width": 1280, "height": 720})
    browser_page.add_init_script(STOOD)
    browser_page.goto(f"{app_url}/compute")
    settle(browser_page)
    stood = browser_page.evaluate("stood")
    assert [len(places) for places in stood.values()] == [1, 1, 1], stood


def test_a_change_styles_no_more_than_the_page_once(show):
    """Count what the browser styles anew: all of it again where a selector reaches too far."""
    page = show("absorption")
    slider = page.locator(".st-key-ab_queries input[type=range]")
    tracing, styled, ended = page.context.browser.new_browser_cdp_session(), [], []
    tracing.on("Tracing.dataCollected", lambda told: styled.extend(told["value"]))
    tracing.on("Tracing.tracingComplete", lambda told: ended.append(told))
    tracing.send("Tracing.start", {"categories": "devtools.timeline"})
    before = page.url
    slider.press("ArrowRight")
    page.wait_for_function("before => location.href !== before", arg=before)
    settle(page)
    tracing.send("Tracing.end")
    while not ended:
        frames(page, 1)
    counts = [one["args"].get("elementCount", 0) for one in styled if one["name"] == STYLED]
    assert 0 < sum(counts) < page.locator("*").count(), counts


def test_on_a_phone_the_navigation_closes_and_controls_stand_by_their_picture(show):
    page = show("kv_cache", PHONE)
    page.get_by_test_id("stExpandSidebarButton").click()
    way = door(page, "Absorption")
    expect(way).to_be_in_viewport()
    way.click()
    page.wait_for_url("**/absorption**")
    expect(way).not_to_be_in_viewport()
    settle(page)
    parts = ("absorption-brackets", "ab_queries", "absorption-adds")
    tops = [page.locator(f".st-key-{part}").bounding_box()["y"] for part in parts]
    assert tops == sorted(tops)
    chip, menu = (page.locator(f".st-key-{key}").bounding_box() for key in ("model_chip", "menu"))
    assert chip["x"] + chip["width"] <= menu["x"]
    assert menu["x"] + menu["width"] <= 390
