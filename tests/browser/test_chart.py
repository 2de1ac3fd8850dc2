"""A chart in a real browser: drawn once a change, in place, so that hover and focus stay."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Show
from tests.browser.waiting import settle

PLOT = "document.querySelector('.js-plotly-plot')"
# Counts Plotly's draws of the first chart, and remembers its node.
WATCHED = f"""() => {{
  const plot = window.watched = {PLOT};
  window.draws = 0;
  plot.on("plotly_afterplot", () => {{ window.draws += 1; }});
}}"""
SAME = f"() => {PLOT} === window.watched"
SIZE = "() => watched.querySelector('.xtick text').getBoundingClientRect().height"


@pytest.fixture
def chart(show: Show) -> Page:
    """Open the cache page, whose slider changes two charts."""
    return show("kv_cache")


def move(page: Page, key: str) -> None:
    """Press a key on the slider of the context, and wait for what it changes."""
    before = page.url
    page.locator(".st-key-kv_context-en input[type=range]").press(key)
    page.wait_for_function("before => location.href !== before", arg=before)
    settle(page)


def test_a_change_draws_once_in_place(chart):
    chart.evaluate(WATCHED)
    before = chart.locator(".stPlotlyChart").first.get_attribute("aria-label")
    move(chart, "ArrowLeft")
    assert chart.evaluate(SAME), "the node of the plot is the same"
    assert chart.evaluate("() => window.draws") == 1
    assert chart.locator(".stPlotlyChart").first.get_attribute("aria-label") != before


def test_full_screen_enlarges_words_and_escape_leaves_it(chart):
    chart.evaluate(WATCHED)
    small = chart.evaluate(SIZE)
    chart.locator(".stPlotlyChart").first.hover()
    chart.get_by_role("button", name="Fullscreen").first.click()
    dialog = chart.get_by_role("dialog")
    expect(dialog).to_be_visible()
    settle(chart)
    assert dialog.bounding_box() == {"x": 0, "y": 0, **chart.viewport_size}
    assert chart.evaluate(SIZE) > 1.2 * small
    chart.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    settle(chart)
    assert chart.evaluate(SAME)
    assert chart.evaluate(SIZE) == small


def test_another_theme_redraws_in_its_colours(chart):
    inks = []
    for scheme in ("light", "dark"):
        chart.emulate_media(color_scheme=scheme)
        settle(chart)
        inks.append(chart.evaluate(f"() => {PLOT}._fullLayout.font.color"))
    assert inks[0] != inks[1]


def test_many_changes_leave_no_node_behind(chart):
    move(chart, "ArrowLeft")
    nodes = chart.evaluate("() => document.querySelectorAll('*').length")
    for _ in range(5):
        move(chart, "ArrowLeft")
        move(chart, "ArrowRight")
    assert chart.evaluate("() => document.querySelectorAll('*').length") == nodes
