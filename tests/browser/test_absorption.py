"""The absorption page in a real browser: the bracket moves, and the numbers are the engine's."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from mla_engine.studies.bracketing import bracketings
from tests.browser.conftest import STATEMENT
from tests.browser.waiting import settle
from ui.engine.model import SMALL_CONFIG
from ui.settings.sizes import SMALL_SIZES

pytestmark = pytest.mark.browser
LINK = {"preset": "small", **SMALL_SIZES, "ab_queries": 4}
DRAWN = """() => [...document.querySelectorAll(".js-plotly-plot")].slice(0, 2).map(node => ({
    texts: (node._fullLayout.annotations || []).map(note => note.text),
    bars: node._fullData.filter(trace => trace.type === "bar").map(trace => Array.from(trace.x)),
}))"""


def test_the_bracket_moves_on_the_screen(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/absorption?{urlencode(LINK)}")
    settle(page)
    orders = bracketings(SMALL_CONFIG, "scores", queries=4, keys=4100)
    picture, bars = page.evaluate(DRAWN)
    assert "4 × 32" in picture["texts"]
    counted = [list(pair) for pair in zip(*bars["bars"], strict=True)]
    assert counted == [list(order.multiply_adds) for order in orders.values()]

    page.get_by_role("radiogroup", name="Bracket").get_by_role("radio").nth(1).click()
    page.wait_for_url("**ab_order=expanded**")
    settle(page)
    picture, _ = page.evaluate(DRAWN)
    assert "16 × 4,100" in picture["texts"]
    assert "4 × 32" not in picture["texts"]

    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    page.wait_for_url("**lang=zh**")
    expect(page.locator(STATEMENT)).to_contain_text("同一个乘积，两种顺序")
    assert page.evaluate("document.querySelectorAll('.katex-error').length") == 0
