"""The comparison in a real browser: marks, limits and a phone."""

import json

import pytest
from playwright.sync_api import expect

from mla_engine import PRESETS, costs
from tests.browser.conftest import STATEMENT, Show
from tests.browser.looks import PHONE
from tests.browser.waiting import settle, wider
from tests.checkpoints.test_own_preset import OWN

pytestmark = pytest.mark.browser
LIMITS = """() => [...document.querySelectorAll(".js-plotly-plot")].map(node =>
    node._fullData.filter(t => t.type === "heatmap").map(t => [t.zmin, t.zmax])[0])"""


def test_two_layers_side_by_side(show: Show) -> None:
    page = show("compare?preset=deepseek-v2-lite&vs_right=llama-3-8b&vs_right_as=own")
    kept = [costs.cache_elements(PRESETS[key].config) for key in ("deepseek-v2-lite", "llama-3-8b")]
    expect(page.locator(STATEMENT)).to_contain_text(
        f"keeps {kept[1]:,}: a factor of {kept[1] / kept[0]:.2f}×"
    )
    boxes = page.locator(".js-plotly-plot .textpoint")
    expect(boxes.filter(has_text="≠").first).to_be_visible()
    expect(page.get_by_test_id("stTable")).to_contain_text("32")

    page.get_by_role("radio", name="Maps").click()
    page.get_by_role("radio", name="logits").click()
    page.wait_for_url("**vs_map=scores**")
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    settle(page)
    left, right = page.evaluate(LIMITS)
    assert left == right
    assert left[0] == -left[1] < 0

    page.set_viewport_size(PHONE)
    assert wider(page, "h1, p, .js-plotly-plot", 390) == []


def test_two_trained_models_stand_side_by_side(show: Show) -> None:
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


def test_a_side_of_the_readers_own_survives_reload_and_back(show: Show) -> None:
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
