"""The comparison in a real browser: two trained models, and a side of the reader's own."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import STATEMENT
from tests.browser.looks import PHONE
from tests.browser.waiting import settle, wider
from tests.checkpoints.test_own_preset import OWN

pytestmark = pytest.mark.browser


def test_two_trained_models_stand_side_by_side(show):
    page = show("compare", {"width": 1280, "height": 720})
    expect(page.locator("h1")).to_contain_text("Two models read the same sentence")
    plots = page.locator(".js-plotly-plot")
    expect(plots).to_have_count(2)
    left, right = (plots.nth(n).locator(".nsewdrag").last.bounding_box() for n in (0, 1))
    assert left["y"] == right["y"] < 720
    assert left["x"] + left["width"] < right["x"]
    assert left["y"] + left["height"] <= 720, "the last word's row is seen at once"
    page.get_by_role("button", name="so many words back").click()
    page.wait_for_url("**sentence=*")
    settle(page)
    expect(page.locator("p", has_text="of A and")).to_contain_text("Next,")
    page.set_viewport_size(PHONE)
    assert wider(page, "h1, p, .js-plotly-plot", 390) == []


def test_a_side_of_the_readers_own_survives_reload_and_back(show):
    page = show("compare?preset=deepseek-v3", {"width": 1280, "height": 720})
    page.locator(".st-key-compare_given button").first.click()
    form = page.get_by_test_id("stPopoverBody")
    form.get_by_label("Or paste").fill(json.dumps(OWN | {"_name_or_path": "me/mine"}))
    form.get_by_role("button", name="Show as B").click()
    page.wait_for_url("**vs_right=own.**")
    settle(page)
    own = "B: mine, MLA, absorbed keeps 416"
    expect(page.locator(STATEMENT)).to_contain_text(own)
    page.reload()
    settle(page)
    expect(page.locator(STATEMENT)).to_contain_text(own)
    page.locator(".st-key-compare_given button").first.click()
    expect(form).to_contain_text("B: mine, layer 0 of 31 layers")
    form.get_by_role("button", name="Keep as B").click()
    page.wait_for_url("**vs_right=deepseek-v3**")
    settle(page)
    expect(page.locator(STATEMENT)).to_contain_text("B: DeepSeek-V3")
    page.go_back()
    page.wait_for_url("**vs_right=own.**")
    settle(page)
    expect(page.locator(STATEMENT)).to_contain_text(own)
    page.set_viewport_size(PHONE)
    settle(page)
    assert wider(page, "h1, p, .js-plotly-plot, .st-key-compare_given", 390) == []
