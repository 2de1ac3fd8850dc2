"""The glossary in a real browser: search, formulas drawn, links that open."""

import csv

import pytest
from playwright.sync_api import expect

from mla_engine import SYMBOLS
from tests.browser.waiting import settle

pytestmark = pytest.mark.browser


def test_a_search_finds_a_symbol_and_its_link_shows_its_numbers(show):
    page = show("notation?seed=3")
    table = page.locator(".st-key-notation_table")
    expect(table.locator("tbody tr")).to_have_count(len(SYMBOLS))
    formulas = sum(bool(symbol.formula) for symbol in SYMBOLS.values())
    expect(table.locator(".katex")).to_have_count(len(SYMBOLS) + formulas)
    expect(table.locator(".katex-error")).to_have_count(0)
    colour = "el => getComputedStyle(el).color"
    latent = table.locator(".tensor.latent").first.evaluate(colour)
    assert latent == "rgb(150, 57, 111)"  # the latent's colour on light ground

    page.get_by_role("textbox").fill("wkv_b")
    page.get_by_role("textbox").press("Enter")
    expect(table.locator("tbody tr")).to_have_count(2)
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Data as CSV").click()
    rows = list(csv.DictReader(download.value.path().read_text("utf-8-sig").splitlines()))
    assert [(row["code"], row["deepseek"]) for row in rows] == [
        ("W_UK", "wkv_b[h, :k]"),
        ("W_UV", "wkv_b[h, -v:]"),
    ]
    with page.context.expect_page() as opened:
        table.get_by_role("link", name="Attention maps").last.click()
    opened.value.wait_for_url("**/attention_maps?*map_tensor=W_UV**")
    settle(opened.value)
    assert "seed=3" in opened.value.url
    expect(opened.value.get_by_role("figure", name="Heatmap of W_UV")).to_be_visible()
