"""The page on rotations in a real browser: a click, a slider, keys and a download, numbers read."""

import csv

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from mla_engine import MultiHeadLatentAttention
from mla_engine.studies.words import hidden_states
from tests.browser.conftest import STATEMENT
from tests.browser.waiting import settle
from ui.engine.model import SMALL_CONFIG
from ui.settings.sizes import SMALL_SIZES
from ui.words.text import catalogue

pytestmark = pytest.mark.browser
LINK = "preset=small&" + "&".join(f"{name}={size}" for name, size in SMALL_SIZES.items())
DRAWN = """chart => {
    const plot = document.querySelectorAll(".js-plotly-plot")[chart];
    const z = plot._fullData.find(trace => trace.type === "heatmap")._input.z;
    const bytes = z.bdata && Uint8Array.from(atob(z.bdata), c => c.charCodeAt(0)).buffer;
    return bytes ? [...new Float32Array(bytes)] : [...z].flatMap(row => [...row]);
}"""


def test_a_click_a_key_and_a_slider_turn_the_pair(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/rope?{LINK}")
    settle(page)
    area = page.locator(".js-plotly-plot").last.locator(".nsewdrag").last.bounding_box()
    page.mouse.click(area["x"] + 2.5 / 16 * area["width"], area["y"] + 7.5 / 16 * area["height"])
    page.wait_for_url("**rope_query=7**")
    settle(page)
    assert "rope_key=2" in page.url
    expect(page.locator(STATEMENT)).to_contain_text("At distance 5 ")
    before = page.locator(STATEMENT).inner_text()
    page.keyboard.press("PageDown")
    page.wait_for_url("**rope_query=8**")
    settle(page)
    page.get_by_role("slider", name="Key position i").press("ArrowRight")
    page.wait_for_url("**rope_key=3**")
    settle(page)
    expect(page.locator(STATEMENT)).to_have_text(before)


def test_the_maps_on_the_screen_are_the_engines(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/rope?{LINK}&rope_topic=pairing&rope_head=2&lang=zh")
    settle(page)
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    h = torch.tensor(hidden_states(tuple(catalogue()["maps.example"]["zh"]), 0, 64))
    right = MultiHeadLatentAttention(SMALL_CONFIG)(h[None]).attention[0, 2].numpy()
    seen = np.tril(np.ones_like(right)) == 1
    drawn = np.array(page.evaluate(DRAWN, 0), dtype=np.float32).reshape(right.shape)
    np.testing.assert_allclose(drawn[seen], right[seen], atol=1e-5)
    wrong = np.array(page.evaluate(DRAWN, 1), dtype=np.float32).reshape(right.shape)
    assert np.abs(wrong - right)[seen].max() > 0.01

    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    with page.expect_download() as download:
        page.get_by_role("button", name="下载 CSV 数据").first.click()
    rows = list(csv.reader(download.value.path().read_text("utf-8-sig").splitlines()))
    assert float(rows[4][3]) == pytest.approx(float(right[3, 2]), abs=1e-5)
