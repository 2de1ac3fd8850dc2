"""What followers are drawn for together, in real browsers: as it is for whoever opens the link."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import new_context
from tests.browser.test_classroom import PHONE, at, classroom, goes, joined, opened, over, press
from tests.browser.waiting import everything, settle

pytestmark = pytest.mark.browser
CHARTS = """plots => plots.map(plot => plot.data.map(({ type, x, y, z, text }) =>
    JSON.stringify([type, x, y, z, text].map(one => ArrayBuffer.isView(one) ? [...one] : one))))"""
LED = ("KV cache", "kv_cache"), ("Attention maps", "attention_maps"), ("RoPE", "rope")


def shown(page: Page) -> tuple[str, list[list[str]]]:
    """The texts of a page, and the numbers of its charts."""
    everything(page)
    settle(page)
    charts = page.locator(".stMain .js-plotly-plot").evaluate_all(CHARTS)
    return page.locator(".stMain").inner_text(), charts


def outside(url: str) -> str:
    """The same address without the class."""
    parts = urlsplit(url)
    query = {name: text for name, text in parse_qsl(parts.query) if name != "room"}
    return parts._replace(query=urlencode(query)).geturl()


def test_a_follower_sees_what_a_reader_sees_and_goes_on_alone(
    app_url: str, chromium: Browser
) -> None:
    with classroom(chromium) as (lecturer, first, second):
        code = opened(lecturer, app_url)
        joined(first, app_url, code, "You follow the lecture")
        joined(second, app_url, code, "正在跟随讲课")
        context = new_context(chromium, PHONE)
        reader = context.new_page()
        for link, name in LED:
            goes(lecturer, link)
            for page in (first, second):
                expect(page).to_have_url(at(name))
                settle(page)
            reader.goto(outside(first.url))
            settle(reader)
            seen = shown(reader)
            assert seen[1]
            assert shown(first) == seen
        press(first, "Look around on my own")
        for page in (first, reader):
            page.get_by_role("slider", name="Key position i").press("ArrowRight")
            expect(page).to_have_url(re.compile("[?&]rope_key="))
            settle(page)
        assert shown(first) == shown(reader) != seen
        expect(over(first)).to_contain_text("On your own")
        expect(second).not_to_have_url(re.compile("rope_key="))
        context.close()
