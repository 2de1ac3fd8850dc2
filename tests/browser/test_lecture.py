"""Lecture mode on three projectors: what must be seen is seen, by clicker, and Escape leaves."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waiting import listening, settle, until, walk
from ui.frame.pages import PAGES
from ui.frame.story import steps

pytestmark = pytest.mark.browser

PROJECTORS = ((1280, 720), (1024, 768))
LARGE, OFTEN = (1920, 1080), 4  # shows the first half as large again: every so many pages suffice
# The picture of a page, or the top of what stands in its place.
PICTURE = {
    "overview": ".st-key-scene",
    "worked_example": ".board",
    "claims": ".claims-board",
    "quiz": ".st-key-quiz_stage",
    "notation": ".st-key-notation_table td",
    "rope": ".st-key-chart-rope_plane",
    "absorption": ".st-key-absorption-brackets",
    "decode": ".st-key-blocks",
    "language_model": ".model .map, [data-testid=stAlert]",  # or that no model is there
}
CHART = ".stElementContainer:has(.stPlotlyChart)"
# Everything that does not stand in the window, reads smaller than it may, or is a column without
# anything in it; empty if all is well.
OUTSIDE = """([picture, least]) => {
  const found = [];
  for (const name of [".st-key-lecture_bar", "h1", picture]) {
    const box = document.querySelector(name)?.getBoundingClientRect();
    const inside = box && box.height > 20 && box.top >= 0 && box.bottom <= innerHeight
      && box.left >= 0 && box.right <= innerWidth + 1;
    if (!inside) found.push([name, JSON.stringify(box)]);
  }
  const main = document.querySelector("[data-testid=stMain]");
  if (main.scrollWidth > main.clientWidth + 1) found.push(["wide", main.scrollWidth]);
  for (const hole of main.querySelectorAll(".stColumn > .stVerticalBlock:empty")) {
    if (hole.offsetWidth) found.push(["hole", hole.offsetWidth]);
  }
  const type = parseFloat(getComputedStyle(document.documentElement).fontSize);
  if (type < least * innerHeight) found.push(["type", type]);
  return found;
}"""


def assert_it_fits(page: Page, name: str, *projectors: tuple[int, int]) -> None:
    """Assert that the page fits each projector."""
    asked = [PICTURE.get(name, CHART), 1 / 52]
    for width, height in projectors:
        page.set_viewport_size({"width": width, "height": height})
        outside = until(page, lambda: page.evaluate(OUTSIDE, asked), lambda found: not found)
        assert not outside, (name, width, height)


def test_every_page_fits_every_projector(app_url, browser_page):
    page = browser_page
    shown = [name for name in PAGES if name != "real_models"]  # which needs a model
    for number, name in enumerate(shown):
        walk(page, f"{app_url}/{name}?lecture=1&lang=zh")
        assert_it_fits(page, name, *PROJECTORS, *([] if number % OFTEN else [LARGE]))
        expect(page.get_by_test_id("stSidebar")).to_be_hidden()


def test_a_burst_of_presses_loses_none(show, app_url):
    page = show("worked_example?lecture=1&we_completed=0")
    listening(page)
    for _ in range(6):
        page.keyboard.press("PageDown", delay=10)
    expect(page.locator(".st-key-we_stage h3:not(.ahead)")).to_contain_text("7 of 22")
    page.goto(f"{app_url}/language_model?stop=1&lecture=1")
    listening(page)
    for _ in range(4):
        page.keyboard.press("PageDown", delay=10)
    expect(page.locator(".st-key-lecture_ways")).to_contain_text(f"5 / {len(steps())}")


def test_the_mouse_meets_the_cell_that_it_points_at(show):
    page = show("attention_maps?lecture=1&preset=deepseek-v2-lite")
    plot = page.locator(".js-plotly-plot").nth(1)
    box = plot.locator(".nsewdrag").bounding_box()
    assert box
    x, y = box["x"] + box["width"] * 2.5 / 11, box["y"] + box["height"] * 5.5 / 11
    page.mouse.move(x - 3, y - 3)
    page.mouse.move(x, y)
    expect(plot.locator(".hoverlayer")).to_contain_text("query mat (5)key sat (2)")
    page.mouse.click(x, y)
    page.wait_for_url("**map_query=5&map_key=2**")


def test_escape_leaves_when_nothing_else_is_open(app_url, browser_page):
    page = browser_page
    bar = page.locator(".st-key-lecture_bar")
    page.goto(f"{app_url}/kv_cache?lecture=1")
    settle(page)
    page.locator(".st-key-lecture_share button").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator(".stPlotlyChart").first.hover()
    page.get_by_role("button", name="Fullscreen").first.click()
    close = page.get_by_role("button", name="Close fullscreen")
    expect(close).to_be_visible()
    page.keyboard.press("Escape")
    expect(close).to_have_count(0)
    settle(page)
    expect(bar).to_be_visible()
    assert "lecture=1" in page.url
    page.keyboard.press("Escape")
    expect(bar).to_have_count(0)
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    assert "lecture" not in page.url


@pytest.mark.parametrize(("path", "width"), [("compare?lecture=1", 1920), ("compare", 1280)])
def test_no_choice_of_a_comparison_is_cut(show, path, width):
    page = show(path, {"width": width, "height": 1080})
    choices = page.get_by_role("combobox")
    expect(choices).to_have_count(4)
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.value)"
    assert choices.evaluate_all(cut) == []


def test_the_table_of_symbols_is_no_wider_than_a_lecture(show):
    table = show("notation?lecture=1").locator(".st-key-notation_table")
    assert table.evaluate("one => one.scrollWidth - one.clientWidth") == 0
