"""The claims page in a real browser: marks, figures, filters, the way to the page that shows it."""

import csv

import pytest
from playwright.sync_api import expect

from mla_engine import claims
from tests.browser.conftest import STATEMENT
from tests.browser.waiting import settle

pytestmark = pytest.mark.browser


def test_a_reader_filters_reads_and_follows(show):
    page = show("claims")
    expect(page.locator(".claims-board li")).to_have_count(len(claims.CLAIMS))
    expect(page.locator(".claim")).to_have_count(len(claims.CLAIMS))
    board = page.locator(".claims-board li").all_inner_texts()
    assert "✓ N1" in board
    assert "✗ P4" in board
    told = page.locator(".st-key-claim_P4 .told")
    expect(told).to_be_hidden()
    page.locator(".claims-board").get_by_role("link", name="P4").press("Enter")
    expect(told).to_be_visible()
    expect(page.locator(".st-key-claim_P4 summary")).to_be_focused()
    expect(page.locator(".st-key-claim_P4")).to_be_in_viewport()

    page.get_by_test_id("stButtonGroup").get_by_text("imprecise").click()
    settle(page)
    expect(page.locator(".claim")).to_have_count(9)
    page.get_by_label("Words, a symbol").fill("C1")
    page.get_by_label("Words, a symbol").press("Enter")
    settle(page)
    expect(page.locator(".claim")).to_have_count(1)
    ratio = claims.check("C1").value("cached")
    expect(page.locator(".claim .evidence")).to_contain_text(f"it is {ratio:.1f} times")

    with page.expect_download() as download:
        page.get_by_role("button", name="Data as CSV").click()
    with download.value.path().open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert {r["figure"]: float(r["value"]) for r in rows} == {
        figure.name: figure.value for figure in claims.check("C1").evidence
    }

    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    settle(page)
    expect(page.locator(".claim .verdict")).to_contain_text("不精确")
    page.get_by_role("button", name="查看").click()
    page.wait_for_url("**/kv_cache?**")
    settle(page)
    expect(page.locator(STATEMENT)).to_contain_text("DeepSeek-V2")
    expect(page.locator(STATEMENT)).to_contain_text("缓存")
