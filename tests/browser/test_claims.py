"""The claims page in a real browser: a mark on the board opens its claim and goes to it."""

import pytest
from playwright.sync_api import expect

from mla_engine import claims

pytestmark = pytest.mark.browser


def test_a_mark_opens_its_claim(show):
    page = show("claims")
    expect(page.locator(".claims-board li")).to_have_count(len(claims.CLAIMS))
    expect(page.locator(".claim")).to_have_count(len(claims.CLAIMS))
    told = page.locator(".st-key-claim_P4 .told")
    expect(told).to_be_hidden()
    page.locator(".claims-board").get_by_role("link", name="P4").press("Enter")
    expect(told).to_be_visible()
    expect(page.locator(".st-key-claim_P4 summary")).to_be_focused()
    expect(page.locator(".st-key-claim_P4")).to_be_in_viewport()
