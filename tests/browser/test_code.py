"""The code behind a page in a real browser: legible, reachable by keys, never cut, downloaded."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import PHONE, WIDE
from tests.browser.waiting import menu, settle

pytestmark = pytest.mark.browser
LEAST_CONTRAST = """() => {
  const parts = color => color.match(/[0-9.]+/g).map(Number);
  const light = color => {
    const [r, g, b] = parts(color).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratios = [...document.querySelectorAll(".stCode")].flatMap(block => {
    const back = light(getComputedStyle(block.querySelector("pre")).backgroundColor);
    return [...block.querySelectorAll("code span")].map(word => {
      const front = light(getComputedStyle(word).color);
      return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    });
  });
  return [Math.min(...ratios), ratios.length];
}"""


def least_contrast(page: Page) -> float:
    ratio, words = page.evaluate(LEAST_CONTRAST)
    assert words > 50
    return ratio


def test_code_is_legible_and_a_snippet_comes_as_it_stands(show):
    page = show("?code=source&variant=mla_absorbed")
    page.locator(".stCode", has_text="def absorbed(").wait_for()
    page.wait_for_selector(".stCode .token.keyword")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", scheme)
        settle(page)
        assert least_contrast(page) >= 4.5

    page.set_viewport_size(PHONE)
    settle(page)
    cut = "e => e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0"
    assert not page.eval_on_selector_all(".stCode, .stCode *", f"all => all.some({cut})")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.set_viewport_size(WIDE)
    menu(page).get_by_role("radio", name="Notebook snippet").click()
    page.wait_for_url("**code=snippet**")
    settle(page)
    code = page.locator(".stCode code").inner_text()
    assert "PRESETS" in code
    with page.expect_download() as got:
        page.get_by_role("button", name="Snippet as .py").click()
    assert got.value.suggested_filename == "mla_overview.py"
    assert got.value.path().read_text("utf-8").split() == code.split()
    with page.expect_download() as got:
        page.get_by_role("button", name="Snippet as .ipynb").click()
    cell = json.loads(got.value.path().read_text("utf-8"))["cells"][0]
    assert "".join(cell["source"]).split() == code.split()
