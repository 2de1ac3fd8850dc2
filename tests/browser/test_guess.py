"""A guess by keyboard, what it hides and shows, and a tensor that lights wherever it is named."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import PHONE, resized
from tests.browser.waiting import settle, until, walk

pytestmark = pytest.mark.browser
LEAD, CARD = ".st-key-lead", ".guess"
COVER = "node => getComputedStyle(node, '::after').content"  # none where the answer is in sight
WORDS = "node => getComputedStyle(node).opacity"
SHIFTS = """() => { window.shifts = 0; new PerformanceObserver((list) => {
  list.getEntries().forEach(({ value }) => { window.shifts += value; });
}).observe({ type: "layout-shift" }); }"""
# The codes that are lit, with the kind of place, also in trees of components' own.
LIT = """() => [document, ...[...document.querySelectorAll(".stBidiComponent *")]
  .map((node) => node.shadowRoot).filter(Boolean)]
  .flatMap((root) => [...root.querySelectorAll("[data-lit]")])
  .map((node) => `${node.closest(".katex") ? "formula" : node.localName} `
    + (node.dataset.tensor ?? node.dataset.code))"""


def lit(page: Page, *wanted: str) -> set[str]:
    """Return all that is lit once all that is wanted is."""
    return until(page, lambda: set(page.evaluate(LIT)), lambda found: found >= set(wanted))


def place(page: Page, selector: str) -> float:
    return page.locator(selector).first.bounding_box()["y"]


def test_its_offer_covers_no_word(show):
    page = show("compute")  # a long number: its words stand beside it, or below
    for width, height in ((1280, 720), (1024, 768), (700, 900), (390, 844), (320, 640)):
        resized(page, {"width": width, "height": height})
        offer = page.locator(f"{CARD} .first").bounding_box()
        assert offer["x"] + offer["width"] <= width
        words = page.locator(f"{LEAD} p, .st-key-look p, h1").all()
        assert len(words) == 4
        assert [one.inner_text() for one in words if meet(one.bounding_box(), offer)] == [], width


def test_on_the_overview_it_asks_in_sight_and_nothing_plays(show):
    page = show("")
    for width, height in ((1440, 900), (1280, 720), (1024, 768), (390, 844)):
        resized(page, {"width": width, "height": height})
        page.locator(f"{CARD} .first").click()
        asked = page.locator(f"{CARD} .ask").bounding_box()
        assert asked["y"] >= 0, width
        assert asked["y"] + asked["height"] <= height, width
        expect(page.get_by_role("button", name="Play")).to_be_visible()  # else it says Pause
        page.locator(f"{CARD} .show").click()
        page.evaluate("() => sessionStorage.removeItem('mla-guesses')")
        page.reload()
        settle(page)


def meet(one: dict[str, float], other: dict[str, float]) -> bool:
    """Tell whether two boxes lie over each other by more than half a pixel."""
    return all(
        min(one[at] + one[size], other[at] + other[size]) - max(one[at], other[at]) > 0.5
        for at, size in (("x", "width"), ("y", "height"))
    )


def test_a_guess_by_keyboard_moves_nothing_and_is_remembered(show, app_url):
    page = show("kv_cache?lang=en")
    assert page.locator(LEAD).evaluate(COVER) == "none"  # the page opens whole
    page.locator(f"{CARD} .first").focus()
    page.keyboard.press("Enter")
    assert page.locator(LEAD).evaluate(COVER) == '"The answer, once you have guessed"'
    assert page.locator(f"{LEAD} > *").first.evaluate(WORDS) == "0"
    slider = page.locator(f"{CARD} input")
    before = place(page, ".js-plotly-plot")
    page.evaluate(SHIFTS)
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    said = page.locator(f"{CARD} output").inner_text()
    assert said == slider.get_attribute("aria-valuetext")
    assert page.locator(f"{CARD} .show").inner_text() == "Show"
    page.keyboard.press("Enter")
    told = page.locator(f"{CARD} .tells")
    expect(told).to_contain_text(f"You said {said}; it is 2,304 tokens: ")
    expect(page.locator(f"{CARD} .gap .truth")).to_be_visible()
    assert page.locator(LEAD).evaluate(COVER) == "none"
    assert place(page, ".js-plotly-plot") == before
    assert page.evaluate("() => window.shifts") == 0
    expect(page.locator(f"{CARD} .again")).to_be_focused()

    page.reload()
    settle(page)
    expect(told).to_contain_text(f"You said {said}")
    assert page.locator(LEAD).evaluate(COVER) == "none"
    page.locator(f"{CARD} .again").focus()
    page.keyboard.press("Enter")
    expect(page.locator(f"{CARD} .show")).to_have_text("Just show me")
    assert page.locator(LEAD).evaluate(COVER) == "none"  # it was seen already

    walk(page, f"{app_url}/planner?lang=en&plan_context=8192&ask=1")  # asked first, by the link
    expect(page.locator(f"{CARD} input")).to_have_count(1)
    assert page.locator(LEAD).evaluate(COVER) != "none"
    page.locator(f"{CARD} .show").click()
    expect(told).to_contain_text("It is 224 sequences.")
    assert page.locator(LEAD).evaluate(COVER) == "none"

    walk(page, f"{app_url}/?lang=zh")  # choices, without a guess, on a phone
    page.set_viewport_size(PHONE)
    settle(page)
    page.locator(f"{CARD} .first").click()
    box = page.locator(CARD).bounding_box()
    assert box["x"] + box["width"] <= 390
    page.locator(f"{CARD} .show").click()
    expect(told).to_contain_text("实际是 576。")
    expect(page.locator(f"{CARD} .chip.truth")).to_have_text("✓ 576")
    assert page.locator(CARD).bounding_box()["height"] == pytest.approx(box["height"], abs=1)
    page.get_by_role("radio", name="MHA", exact=True).click()
    settle(page)
    expect(page.locator(f"{CARD} .asks")).to_contain_text("换了设置")  # and asks again
    walk(page, f"{app_url}/?lang=zh&lecture=1")
    expect(page.locator(CARD)).to_have_count(0)


def test_a_tensor_lights_in_words_formulas_and_pictures(show, app_url):
    page = show("worked_example?lang=en&we_step=10")
    page.locator("[data-cell='1,1']").focus()
    wanted = {"formula scores_C", "figure scores_C", "span scores_C"}
    assert lit(page, *wanted) == wanted
    page.locator("figure.matrix").first.hover()
    assert lit(page, "figure q_C") >= {"figure q_C", "formula q_C", "span q_C"}

    page.locator("h1").hover()
    page.locator("h1").click()
    assert until(page, lambda: page.evaluate(LIT), lambda found: not found) == []

    walk(page, f"{app_url}/?lang=en")
    wanted = {"g c_KV", "rect c_KV", "span c_KV"}
    page.locator(".block[data-code=c_KV]").focus()
    assert lit(page, *wanted) == wanted
    named = page.locator(".stMain .tensor[data-tensor=k_C][tabindex='0']")
    expect(named).to_have_count(1)  # of many words one stop for the Tab key
    named.focus()
    assert lit(page, "g k_C", "span k_C") == {"g k_C", "span k_C"}

    walk(page, f"{app_url}/absorption?lang=en")
    page.get_by_text("How to read this picture").click()
    page.locator(".stExpander .tensor[data-tensor=c_KV]").first.hover()
    assert lit(page, "span c_KV", "g c_KV") == {"span c_KV", "g c_KV"}

    walk(page, f"{app_url}/compare?lang=en&vs_view=flow")
    page.locator(".js-plotly-plot .textpoint").nth(3).hover(force=True)
    wanted = {"path q_R_pre", "span q_R_pre"}  # a box, and the list below of what differs
    assert lit(page, *wanted) == wanted
