"""Every page for people who see little, listen or use keys: no serious finding, no word unreadable.

One browser session goes through all pages; size, theme and language change without a new load.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.conftest import settle
from ui.page import PAGES

pytestmark = pytest.mark.browser

CHARTS = Path(__file__).with_name("chart_text.js").read_text("utf-8")
WIDE, PHONE = {"width": 1920, "height": 1080}, {"width": 390, "height": 844}
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
CONTRAST = {"type": "rule", "values": ["color-contrast"]}
CHARTS_DRAWN = """() => [...document.querySelectorAll("[data-testid=stPlotlyChart]")].every(
    chart => !chart.getBoundingClientRect().width || chart.querySelector(".main-svg"))"""
VIEWS = (
    "attention_maps?map_generated=24",
    *(f"rope?rope_topic={topic}" for topic in ("merged", "pairing", "scale", "yarn")),
    "compression?cmp_weights=spectrum&cmp_log=1",
    *(f"kv_cache?kv_view={view}" for view in ("memory", "layouts", "parallel", "formula")),
    "compute?cost_phase=prefill",
    "compare?vs_view=costs",
    "compare?vs_view=maps",
)


@pytest.fixture(scope="module")
def reader(chromium: Browser) -> Iterator[Page]:
    """One session for the file: the browser keeps what it has loaded."""
    context = chromium.new_context(viewport=WIDE, color_scheme="light", locale="en-US")
    page = context.new_page()
    page.set_default_timeout(20_000)
    yield page
    context.close()


@pytest.fixture
def opened(reader: Page, app_url: str) -> Callable[[str], Page]:
    """`opened("rope?rope_pair=3")` shows that page in English on a wide light screen."""

    def load(path: str) -> Page:
        reader.set_viewport_size(WIDE)
        reader.emulate_media(color_scheme="light")
        reader.goto(f"{app_url}/{re.sub('^overview', '', path)}")
        drawn(reader)
        return reader

    return load


def drawn(page: Page) -> None:
    """Wait until the script has run and every chart on the page has its words."""
    settle(page)
    page.wait_for_function(CHARTS_DRAWN)
    page.wait_for_timeout(250)


def speak(page: Page, language: str) -> None:
    """Switch the language by its button, which a narrow screen keeps out of sight."""
    words = page.get_by_test_id("stSidebar").get_by_text(language)
    words.evaluate("node => node.closest('button').click()")
    drawn(page)


def unreadable(page: Page) -> list[str]:
    """What is wrong with the charts' words once they have followed the window."""
    for _ in range(15):
        found = page.evaluate(CHARTS)
        if not found:
            break
        page.wait_for_timeout(200)
    return found


def findings(page: Page, only: dict[str, object] = RULES) -> list[str]:
    """Serious and critical findings, and words of charts that cannot be read."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    options = {"runOnly": only, "resultTypes": ["violations"]}
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [
        f"{rule['id']}: {node['target']} {node['html'][:120]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ] + unreadable(page)


def looked_at(page: Page) -> dict[str, list[str]]:
    """The findings on a wide and a narrow screen, light and dark."""
    found = {"wide light": findings(page)}
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(150)
    found["wide dark"] = findings(page, CONTRAST)
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(300)  # the charts follow the window
    found["phone dark"] = findings(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(100)
    found["phone light"] = unreadable(page)
    return {where: what for where, what in found.items() if what}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_finding(opened: Callable[[str], Page], name: str) -> None:
    page = opened(name)
    assert looked_at(page) == {}
    speak(page, "中文")
    assert findings(page) == []
    page.set_viewport_size(WIDE)
    page.wait_for_timeout(300)
    assert unreadable(page) == []


@pytest.mark.parametrize("path", VIEWS)
def test_a_view_has_none_either(opened: Callable[[str], Page], path: str) -> None:
    assert looked_at(opened(path)) == {}


@pytest.mark.parametrize("path", ["worked_example", "kv_cache", "compute"])
def test_an_open_expander(opened: Callable[[str], Page], path: str) -> None:
    page = opened(path)
    page.get_by_test_id("stMain").get_by_test_id("stExpander").first.locator("summary").click()
    drawn(page)
    assert looked_at(page) == {}


@pytest.mark.parametrize(
    "path",
    [
        "overview?colour=red&n_heads=0",
        "overview?preset=minicpm3-4b&d_rope=64",
        "overview?preset=deepseek-v3&lecture=1",
        "attention_maps?stop=5",
        "compare?code=source",
        "kv_cache?code=snippet",
        "quiz?quiz_answers=0",
        "quiz?quiz_answers=1",
    ],
    ids=["warned", "refused", "lecture", "tour", "source", "snippet", "answered", "otherwise"],
)
def test_a_state(opened: Callable[[str], Page], path: str) -> None:
    assert looked_at(opened(path)) == {}


def test_the_dialog_with_the_link_for_the_audience(opened: Callable[[str], Page]) -> None:
    page = opened("notation?notation_of=cached")
    page.locator(".st-key-share").get_by_role("button").click()
    page.get_by_role("dialog").wait_for()
    settle(page)
    page.wait_for_timeout(300)  # it fades in
    assert looked_at(page) == {}


def test_what_cannot_be_read_is_found(reader: Page) -> None:
    """The checks themselves: planted defects do not pass."""
    chart = """<main><h1>x</h1><div class="js-plotly-plot" style="width: 200px; height: 80px">
        <svg class="main-svg" width="200" height="80">{}</svg></div></main>"""
    text = '<text x="{}" y="40" font-size="16" fill="{}">{}</text>'
    planted = {
        text.format(20, "#999", "pale"): "“pale” has a contrast of 2.85",
        '<rect width="200" height="80" fill="#000"/>' + text.format(20, "#333", "dark"): (
            "“dark” has a contrast of 1.66"
        ),
        text.format(20, "#000", "one") + text.format(30, "#000", "two"): "“one” and “two” overlap",
        text.format(180, "#000", "beyond"): "“beyond” is cut by the edge of its chart",
        text.format(20, "#000", "one") + text.format(90, "#000", "two"): None,
    }
    for svg, says in planted.items():
        reader.set_content(chart.format(svg))
        assert reader.evaluate(CHARTS) == ([says] if says else [])
    bad = '<p style="color: #999">pale</p><img src="x">'
    reader.set_content(f"<html lang=en><title>x</title><main><h1>x</h1>{bad}</main></html>")
    assert {line.split(":")[0] for line in findings(reader)} == {"color-contrast", "image-alt"}
