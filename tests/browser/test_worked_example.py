"""The worked example in a real browser: clicker keys, clicks, language, reload, the numbers."""

import pytest
from playwright.sync_api import Page, expect

from mla_engine import worked_example
from mla_engine.worked_example import Step
from tests.browser.looks import PHONE
from tests.browser.test_chart import LOST
from tests.browser.waiting import settle, until, walk

pytestmark = pytest.mark.browser
STEPS = worked_example.steps("mla")
HOLD = """() => {
  const [send, held] = [WebSocket.prototype.send, []];
  WebSocket.prototype.send = function (sent) { held.push(() => send.call(this, sent)); };
  window.release = () => { WebSocket.prototype.send = send; held.forEach((one) => one()); };
}"""
READ = """() => ["h3", ".katex-display", ".board", ".written"]
  .map((part) => [...document.querySelectorAll(`.st-key-we_stage ${part}`)].at(-1))
  .map((node) => [node.textContent, [...node.querySelectorAll("td")].map((td) => td.className)])"""
TOP = """(part) => [...document.querySelectorAll(part)].find((node) => node.offsetParent)
  .getBoundingClientRect().y"""
TIED = """() => [...document.querySelectorAll(".st-key-we_formula [data-tensor]")]
  .map((node) => node.dataset.tensor)"""


def shown(page: Page, step: Step) -> None:
    """Assert that the result on the screen is the engine's, cell by cell."""
    numbers = [worked_example.show(value) for row in step.result.rows for value in row]
    expect(page.locator(".matrix.result button:visible")).to_have_text(numbers)


def at_step(page: Page, n: int) -> None:
    """Assert that the server's heading says step n, and the result is that step's."""
    settle(page)
    expect(page.locator("h3:visible")).to_contain_text(f"{n} of {len(STEPS)}: ")
    shown(page, STEPS[n - 1])


def top(page: Page, selector: str) -> float:
    return page.evaluate(TOP, selector)


def test_the_whole_example_by_keyboard_click_language_and_reload(show):
    page = show("worked_example?we_completed=0&we_printed=1")
    at_step(page, 1)
    place_of_terms = top(page, ".written")
    slider = page.get_by_role("slider")
    for n in range(2, len(STEPS) + 1):
        if n % 2:  # as a lecturer who has just used the scrubber
            slider.focus()
        page.keyboard.press("PageDown")
        at_step(page, n)
        assert top(page, ".written") == pytest.approx(place_of_terms, abs=1), "the terms jumped"
    page.keyboard.press("PageDown")
    page.keyboard.press("PageUp")
    at_step(page, len(STEPS) - 1)

    slider.evaluate("node => node.blur()")
    page.keyboard.press("ArrowLeft")
    at_step(page, len(STEPS) - 2)
    page.get_by_role("button", name="First").click()
    at_step(page, 1)
    page.get_by_role("button", name="Next").click()
    at_step(page, 2)
    page.keyboard.press("ArrowRight")  # the button just clicked has the focus and no use for it
    at_step(page, 3)
    page.keyboard.press("ArrowLeft")
    at_step(page, 2)
    slider.focus()
    page.keyboard.press("ArrowRight")  # the slider's own: one step, not two
    at_step(page, 3)
    page.get_by_role("radio", name="1").first.focus()
    page.keyboard.press("ArrowLeft")  # the choice of a row keeps its arrows
    settle(page)
    at_step(page, 3)
    page.keyboard.press("PageUp")
    at_step(page, 2)

    page.locator("[data-cell='2,1']").click()
    written = page.locator(".written .terms")
    expect(written).to_contain_text(STEPS[1].terms(1, 0))
    expect(page.locator(".matrix.result .chosen")).to_have_text(
        worked_example.show(STEPS[1].result.rows[1][0])
    )
    expect(page.locator(".matrix.operand .used")).to_have_count(8)
    expect(page.locator(".matrix.printed td")).to_have_text(["0.08≠", "0.02≠"])

    page.get_by_text("中文").click()
    expect(page.locator("h3:visible")).to_contain_text("第 2 步")
    settle(page)
    page.reload()
    settle(page)
    expect(page.locator("h3:visible")).to_contain_text("第 2 步")
    expect(written).to_contain_text(STEPS[1].terms(1, 0))
    shown(page, STEPS[1])
    assert "we_step=2" in page.url
    assert "we_row=2" in page.url


def test_a_step_is_shown_before_the_server_has_heard_of_it(show):
    page = show("worked_example?we_variant=mha&we_printed=1&lang=en")
    formula = page.locator(".st-key-we_formula")
    steps, ahead = worked_example.steps("mha_completed"), page.locator(".ahead")
    for step in steps[1:]:
        page.evaluate(HOLD)
        page.get_by_role("button", name="Next").click()
        expect(ahead).to_have_count(4)
        shown(page, step)
        before = page.evaluate(READ), formula.screenshot()
        page.evaluate("release()")
        expect(ahead).to_have_count(0)
        settle(page)
        assert (page.evaluate(READ), formula.screenshot()) == before
    tied = page.evaluate(TIED)
    page.evaluate(HOLD)
    page.get_by_role("button", name="First").click()
    shown(page, steps[0])
    expect(ahead).to_have_count(0)  # no answer came
    shown(page, steps[-1])
    page.evaluate("release()")
    settle(page)
    for _ in range(3):  # a burst loses none
        page.get_by_role("button", name="Next").click()
    settle(page)
    shown(page, steps[3])
    shown(page, steps[3])
    settle(page)
    expect(ahead).to_have_count(0)
    shown(page, steps[3])
    page.reload()
    settle(page)
    shown(page, steps[3])
    walk(page, page.url.split("&we_step=")[0] + f"&we_step={len(steps)}")
    opened = until(page, lambda: page.evaluate(TIED), lambda found: found == tied)
    assert opened == tied, "a formula's letters keep the names of another's"


def test_a_press_on_a_cell_whose_message_is_lost_is_told_again(show):
    page = show("worked_example")
    page.evaluate(LOST)
    cell = page.locator(".matrix.result [data-cell='1,2']")
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("() => window.lost") == 1


def test_formula_matrices_terms_and_choices_stand_above_the_fold(app_url, browser_page):
    page, places = browser_page, {window: set() for window in ((1920, 1080), (1280, 720))}
    for step in (1, 5, 9, 12, 22):
        walk(page, f"{app_url}/worked_example?we_completed=0&we_printed=1&we_step={step}&lang=en")
        for width, height in places:
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            formula, board, column = (
                page.locator(where).bounding_box()
                for where in (".katex-html", ".board", "[class*=st-key-we_column]")
            )
            assert formula["x"] == pytest.approx(board["x"], abs=2)
            assert 0 < board["y"] - formula["y"] < 0.1 * height, "the formula is not above"
            assert column["y"] + column["height"] <= height
            places[width, height].add(round(top(page, ".written")))
    assert [len(found) for found in places.values()] == [1, 1], "something jumps between steps"


def test_edit_stays_after_reload_and_fits_a_phone(show, app_url):
    page = show("worked_example?we_completed=0&we_printed=1&we_step=5&lang=en", PHONE)
    buttons = [page.get_by_role("button", name=n) for n in ("First", "Back", "Next", "Last")]
    boxes = [button.bounding_box() for button in buttons]
    assert len({round(box["y"]) for box in boxes}) == 1, "the buttons share a row"
    assert max(box["x"] + box["width"] for box in boxes) <= 390
    page.get_by_text("Put in your own numbers").click()
    box = page.get_by_label("W_UK (4 × 2)")
    box.fill("1 0; 0 1; 1/3 1; 0 0.5")
    box.press("PageDown")  # a single line steps and keeps what was typed
    expect(page.locator("h3:visible")).to_contain_text("6 of 22")
    page.keyboard.press("PageUp")
    inputs = {"W_UK": worked_example.read("W_UK", "1 0;0 1;1/3 1;0 1/2")}
    changed = worked_example.steps("mla", inputs)
    settle(page)
    shown(page, changed[4])

    box.fill("1 0; 0 z")
    box.press("Enter")
    error = page.get_by_test_id("stAlert")
    expect(error).to_contain_text("W_UK has 2 rows, row 1 with 2 numbers; write 4 rows")
    shown(page, changed[4])
    settle(page)
    page.reload()
    settle(page)
    shown(page, changed[4])
    for step in (1, 5, 12, 17, len(STEPS)):
        walk(page, f"{app_url}/worked_example?we_completed=0&we_printed=1&we_step={step}&lang=en")
        width = page.evaluate("document.documentElement.scrollWidth")
        ends = "cells => Math.max(...cells.map(cell => cell.getBoundingClientRect().right))"
        assert width <= 390
        assert page.locator(".board td").evaluate_all(ends) <= 390
