"""The pages of the app where no scripts run, beside the same pages with scripts."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.waiting import walk
from tests.sampling import some
from ui.frame.pages import PAGES
from ui.settings.page import HOME
from ui.settings.shared import TAGS

pytestmark = pytest.mark.browser
NARROW = {"width": 320, "height": 568}
SAID = {True: ".st-key-lead .stMarkdown", False: ".lead > *"}  # with scripts and without
WIDER = "() => document.documentElement.scrollWidth - innerWidth"
IMAGE = "<img src=x>"


@pytest.fixture(scope="module")
def scriptless(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(java_script_enabled=False, viewport=NARROW, locale="en-US")
    yield context.new_page()
    context.close()


def opened(page: Page, address: str) -> Page:
    """Open an address, and follow where it leads."""
    page.goto(address)
    expect(page.locator("nav a")).to_have_count(len(PAGES))
    return page


def said(page: Page, scripts: bool) -> list[str]:
    """Return the title, the number and the first sentence."""
    texts = page.locator(f"h1, {SAID[scripts]}").all_text_contents()
    return [" ".join(one.split()) for one in texts]


@pytest.mark.parametrize("name", some(PAGES, 8))
def test_a_page_says_without_scripts_what_it_says_with_them(name, reader, scriptless, app_url):
    address = f"{app_url}/{'' if name == HOME else name}"
    opened(scriptless, address)
    walk(reader, address)
    assert said(scriptless, scripts=False) == said(reader, scripts=True) != []
    told = scriptless.locator("main").text_content()
    for chart in reader.get_by_test_id("stPlotlyChart").all():
        assert chart.get_attribute("aria-label") in told
    assert scriptless.evaluate(WIDER) <= 0


def test_a_page_in_words_has_the_settings_of_its_address_and_the_way_back(
    reader, scriptless, app_url
):
    address = f"{app_url}/kv_cache?kv_context=4096&lang=zh"
    opened(scriptless, address)
    walk(reader, address)
    assert said(scriptless, scripts=False) == said(reader, scripts=True)
    expect(scriptless.locator("html")).to_have_attribute("lang", TAGS["zh"])
    back = scriptless.get_by_role("note").get_by_role("link")
    assert back.evaluate("node => node.href") == address
    expect(scriptless.locator("td", has_text="2 × 128 × 128").first).to_be_visible()


@pytest.mark.parametrize("lost", ["**/*.js", "**/static/js/src.*.js", "a syntax of tomorrow"])
def test_where_scripts_do_not_come_the_page_comes_in_words(lost, chromium, app_url):
    context = chromium.new_context(locale="zh-CN")
    if "*" in lost:
        context.route(lost, lambda route: route.abort())
    else:
        newer = {"body": "let = of tomorrow", "content_type": "text/javascript"}
        context.route("**/static/js/index.*.js", lambda route: route.fulfill(**newer))
    page = opened(context.new_page(), f"{app_url}/planner")
    expect(page.locator("html")).to_have_attribute("lang", TAGS["zh"])
    expect(page.locator(".lead > *")).to_have_count(2)
    context.close()


def test_a_strangers_text_is_no_html_of_a_page_in_words(scriptless, app_url):
    opened(scriptless, f"{app_url}/rope?{quote(IMAGE)}=1&{quote('</script>')}")
    expect(scriptless.get_by_role("note").nth(1)).to_contain_text(IMAGE)
    expect(scriptless.locator("main img, main script")).to_have_count(0)


def test_a_page_in_words_runs_no_script_of_anybody(chromium, app_url):
    page = opened(chromium.new_page(), f"{app_url}/notation?plain=1")
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), "
        "{textContent: 'window.ran = true'}))"
    )
    assert page.evaluate("window.ran") is None
    page.close()
