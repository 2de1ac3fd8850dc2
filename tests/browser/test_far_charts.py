"""Charts far below the window are drawn when the reader comes near, and for paper."""

import pytest
from playwright.sync_api import expect

from tests.browser.waiting import everything, settle

pytestmark = pytest.mark.browser
FAR, PLACES = ".stPlotlyChart[data-far]", ".stPlotlyChart:not(.dialog)"


def test_a_far_chart_keeps_its_room_and_is_drawn_when_the_reader_comes_near(show):
    page = show("absorption", {"width": 1280, "height": 500})
    far = page.locator(FAR)
    expect(far.last).to_be_attached()
    assert far.count() < page.locator(PLACES).count()
    assert page.locator(FAR + " .main-svg").count() == 0
    high = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    while far.count():
        far.first.scroll_into_view_if_needed()
        settle(page)
    grown = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") - high
    assert abs(grown) < 60, grown


def test_paper_has_every_chart(show):
    page = show("compute?lang=zh", {"width": 1280, "height": 500})
    expect(page.locator(FAR).last).to_be_attached()
    everything(page)
    expect(page.locator(PLACES + ":not(:has(.main-svg))")).to_have_count(0)
