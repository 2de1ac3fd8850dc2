"""The compute page in a browser: a measurement that was asked for can be stopped."""

import pytest
from playwright.sync_api import expect

from tests.browser.waiting import settle

pytestmark = pytest.mark.browser


def test_measuring_can_be_stopped(show):
    page = show("compute?preset=glm-5&d_model=6144&n_heads=64&d_head=192&d_value=256")
    page.get_by_role("button", name="Measure on this machine").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("button", name="Measure on this machine")).to_be_visible()
    settle(page)
    expect(page.get_by_text("Taken on")).to_have_count(0)
