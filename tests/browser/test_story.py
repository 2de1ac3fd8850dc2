"""The story in a browser: by clicker to its end, on a phone, and its presenter's window."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import CHARTS, PHONE
from tests.browser.waiting import listening, settle, until, walk
from ui import css
from ui.frame.story import steps
from ui.settings.parsers import as_text

pytestmark = pytest.mark.browser

PROJECTORS = ((1280, 720), (1024, 768))
LARGE, OFTEN = (1920, 1080), 4  # shows the first half as large again: every so many steps suffice
LECTURE_BARS = ".st-key-lecture_bar", ".st-key-lecture_says p"
STORY_BARS = ".st-key-story_bar", ".st-key-story_bar > :last-child p"
# What is wrong with a step on this screen: nothing lit in sight, the page too wide, small type.
WRONG = """([keys, bar, spoken, least]) => {
  const found = [];
  const main = document.querySelector("[data-testid=stMain]");
  if (main.scrollWidth > main.clientWidth + 1) found.push(["wide", main.scrollWidth]);
  const over = document.querySelector(bar).getBoundingClientRect();
  if (over.top < -1 || over.bottom > innerHeight / 2) found.push(["bar", over.top, over.bottom]);
  const said = parseFloat(getComputedStyle(document.querySelector(spoken)).fontSize);
  if (said < 0.02 * innerWidth * least) found.push(["spoken", said]);
  for (const key of keys) {
    const part = main.querySelector(`.st-key-${key}`);
    const box = part?.getBoundingClientRect();
    if (!box?.height) { found.push([key, "missing"]); continue; }
    const seen = Math.min(box.bottom, innerHeight) - Math.max(box.top, over.bottom - 1);
    const room = Math.min(box.height, innerHeight - over.bottom);
    if (key === keys[0] && seen < room - 40) found.push([key, seen, box.height]);
    const inner = [...part.querySelectorAll("*")].map((one) => one.shadowRoot).filter(Boolean);
    const moving = inner.flatMap((root) => [...root.querySelectorAll(".moving svg text")]);
    for (const text of [...part.querySelectorAll(".js-plotly-plot .main-svg text"), ...moving]) {
      if (!text.textContent.trim() || !text.getClientRects().length) continue;
      if (text.closest(".hoverlayer, .heatmap-label, .modebar")) continue;
      const at = text.getScreenCTM();
      const size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(at.a, at.b);
      if (size < 0.013 * innerWidth * least) found.push([key, text.textContent.trim(), size]);
    }
  }
  return found;
}"""
TITLE = """() => Math.round(document.querySelector("h1").getBoundingClientRect().top
  + document.querySelector("[data-testid=stMain]").scrollTop)"""
SCROLLED = """main => new Promise((told) => {
  const rested = () => requestAnimationFrame(() => told(main.scrollTop));
  main.addEventListener("scrollend", rested, { once: true });
  main.scrollTo(0, 5);
})"""
OPACITY = "part => getComputedStyle(part).opacity"


def link(app_url: str, number: int, **more: object) -> str:
    step = steps()[number - 1]
    own = {name: as_text(value) for name, value in step.own.items()} | {"stop": number} | more
    return f"{app_url}/{'' if step.page == 'overview' else step.page}?{urlencode(own)}"


def first(name: str, **own: object) -> int:
    """Return the first step of a page in this state, by default as it opens."""
    return next(n for n, s in enumerate(steps(), 1) if (s.page, dict(s.own)) == (name, own))


def wrong(page: Page, number: int, *bars: str, least: int) -> list[object]:
    """Return the faults that `WRONG` finds once the step has come to rest."""
    asked = [list(map(css, steps()[number - 1].look)), *bars, least]
    return until(page, lambda: page.evaluate(WRONG, asked), lambda found: not found)


def test_by_the_clicker_alone_to_the_end_on_every_projector(app_url, browser_page):
    page, found, titles = browser_page, {}, set()
    page.goto(link(app_url, 1, lecture=1, lang="en"))
    for number, step in enumerate(steps(), start=1):
        expect(page.locator(".st-key-lecture_ways")).to_contain_text(f"{number} / {len(steps())}")
        expect(page.locator(".st-key-lecture_says")).to_contain_text(step.say["en"])
        listening(page)
        for width, height in (*PROJECTORS, LARGE) if number % OFTEN == 1 else PROJECTORS:
            page.set_viewport_size({"width": width, "height": height})
            found[number, width] = wrong(page, number, *LECTURE_BARS, least=1)
            found[number, width] += until(page, lambda: page.evaluate(CHARTS), lambda it: not it)
            titles.add((width, page.evaluate(TITLE)))
        if number < len(steps()):
            page.keyboard.press("PageDown")
    assert {where: what for where, what in found.items() if what} == {}
    assert len(titles) == len({*PROJECTORS, LARGE}), (
        f"the title moves from step to step: {sorted(titles)}"
    )


def test_every_picture_is_lit_on_a_phone(app_url, browser_page):
    """Each is looked at in the last step that lights it."""
    page, found = browser_page, {}
    page.set_viewport_size(PHONE)
    lit = {(step.page, step.look): number for number, step in enumerate(steps(), start=1)}
    for number in lit.values():
        walk(page, link(app_url, number, lang="zh"))
        expect(page.locator(".st-key-story_bar")).to_contain_text(steps()[number - 1].say["zh"])
        found[number] = wrong(page, number, *STORY_BARS, least=0)
    assert {where: what for where, what in found.items() if what} == {}


def test_what_is_lit_comes_back_into_view_until_the_reader_scrolls(app_url, browser_page):
    page, number = browser_page, first("kv_cache", kv_ways="two")
    page.set_viewport_size(PHONE)
    page.goto(link(app_url, number))
    listening(page)
    assert not wrong(page, number, *STORY_BARS, least=0)
    main = page.get_by_test_id("stMain")
    main.evaluate("main => main.scrollTo(0, 0)")  # as Streamlit does when a page begins
    assert not wrong(page, number, *STORY_BARS, least=0)
    page.emulate_media(reduced_motion="reduce")  # what scrolls does so at once
    page.keyboard.press("Home")
    assert main.evaluate(SCROLLED) == 5


def test_what_a_step_is_about_is_lit_and_the_rest_is_dimmed(app_url, browser_page):
    page = browser_page
    page.goto(link(app_url, first("kv_cache", kv_ways="two")))
    settle(page)
    left, right = (page.locator(f".st-key-kv_{side}-chart") for side in ("left", "right"))
    assert until(page, lambda: right.evaluate(OPACITY), lambda found: found == "0.2") == "0.2"
    assert left.evaluate(OPACITY) == "1"
    assert page.locator(".stElementContainer:has(h1)").evaluate(OPACITY) == "1"
    right.hover()
    assert until(page, lambda: right.evaluate(OPACITY), lambda found: found == "1") == "1"

    number = first("overview")
    page.goto(link(app_url, number))
    settle(page)
    about = steps()[number - 1].blocks
    for code in ("h", "c_KV", "q_C", "attention"):
        block = page.locator(f".block[data-code={code}]")
        assert float(block.evaluate(OPACITY)) == (1 if code in about else 0.15), code


def test_the_presenters_window_follows_and_leads(app_url, browser_page):
    page = browser_page
    page.goto(link(app_url, 1, lecture=1))
    listening(page)
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Presenter window").click()
    window, last = opened.value, len(steps())
    expect(window.locator("#place")).to_have_text(f"1 / {last}")
    expect(window.locator("#say")).to_have_text(steps()[0].say["en"])
    expect(window.locator("#note")).to_have_text(steps()[0].note["en"])
    expect(window.locator("#then")).to_have_text(steps()[1].say["en"])
    expect(window.locator("#clock")).not_to_have_text("00:00")

    page.keyboard.press("PageDown")
    expect(window.locator("#place")).to_have_text(f"2 / {last}")
    listening(page)
    window.keyboard.press("PageDown")
    expect(page.locator(".st-key-lecture_ways")).to_contain_text(f"3 / {last}")
    expect(window.locator("#say")).to_have_text(steps()[2].say["en"])
    listening(page)
    window.locator("#steps").select_option("6")
    expect(page.locator(".st-key-lecture_says")).to_contain_text(steps()[5].say["en"])
    expect(window.locator("#place")).to_have_text(f"6 / {last}")

    listening(page)
    window.locator("#say").click()
    window.keyboard.press("b")
    black = page.locator("body > div[style*='background: rgb(0, 0, 0)']")
    expect(black).to_be_visible()
    expect(window.locator("#black")).to_have_text("Show the screen (B)")
    page.keyboard.press("b")
    expect(black).to_have_count(0)
    expect(window.locator("#black")).to_have_text("Black screen (B)")

    page.reload()
    listening(page)
    page.keyboard.press("PageUp")
    expect(window.locator("#place")).to_have_text(f"5 / {last}")
    expect(window.locator("#lost")).to_have_text("")
    listening(page)
    page.locator(".st-key-lecture_leave").get_by_role("button").click()
    settle(page)
    page.locator(".st-key-story_leave").get_by_role("button").click()
    expect(window.locator("#lost")).to_have_text("The projected window no longer shows the story.")


def test_outside_the_story_the_clicker_goes_through_a_pages_sections(show):
    page = show("absorption?lecture=1", {"width": 1280, "height": 720})
    page.emulate_media(reduced_motion="reduce")  # at once where it leads to
    listening(page)
    headings = page.locator(".stMain .stHeading h3")
    bar = page.locator(".st-key-lecture_bar")

    def under_the_bar(number: int) -> float:
        box, over = headings.nth(number).bounding_box(), bar.bounding_box()
        assert box
        assert over
        return abs(box["y"] - over["y"] - over["height"] - 8)

    def brought(key: str, number: int) -> bool:
        """Press until a heading stands below the bar: charts before it that are cut come first."""
        for _ in range(4):
            page.keyboard.press(key)
            settle(page)
            if under_the_bar(number) < 3:
                return True
        return False

    for number in range(3):
        assert brought("PageDown", number)
    assert brought("PageUp", 1)
    assert "absorption" in page.url
    main, before = page.get_by_test_id("stMain"), -1.0
    while "absorption" in page.url and (now := main.evaluate("it => it.scrollTop")) != before:
        before = now
        page.keyboard.press("PageDown")  # the last press, which does not scroll, turns the page
        settle(page)
    page.wait_for_url("**/attention_maps?**")
