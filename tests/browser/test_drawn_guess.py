"""Guesses that are drawn over a chart, and the charts of every run that is planned."""

import json
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from mla_engine.language_model.study import read
from tests import study_rows as made
from tests.attacks.server import ROOT, copied, running
from tests.browser.conftest import new_context
from tests.browser.looks import PHONE, WIDE, resized, speak, unreadable
from tests.browser.waiting import everything, settle, walk

pytestmark = pytest.mark.browser
MARKS = ".st-key-quality-cache .scatterlayer"
POINT, CARD = ".drawing .dot[role=slider]", ".guess"
SEEN = "node => getComputedStyle(node).opacity"
PERCENT = 1.5  # that a pointer may be off by


def fall(step: int, code: str, seed: int) -> float:
    """Return a loss that falls as in a training; these rows say nothing of a model."""
    place = list(made.CACHED).index(code)
    return 0.3 + 0.02 * place + 9 / (1 + step / 40) + (step % 150) / 900 + 0.01 * seed


def every_run(plan: dict) -> Iterator[dict]:
    """Return a made-up row of each planned run, as long as in a training, with near values."""
    for code, planned in plan["variants"].items():
        for seed in range(planned["seeds"]):
            row = made.row(code, seed, lambda *cell: 0.9 + 0.1 * made.share(*cell))
            steps = range(0, 1401 + 200 * (seed % 3), 50)
            curve = [{"step": n, "loss": fall(n, code, seed) if n else None} for n in steps]
            shares = [[8 * n, 40, 1 - 0.001 * n * (seed + 1)] for n in range(8)]
            told = {"command": "made up for a test", "curve": curve, "by_distance": shares}
            yield row | told


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of an app in which every planned run has a row."""
    tree = copied(tmp_path_factory.mktemp("full") / "project", {})
    (tree / "assets").unlink()  # of the copy: a link to the project's own
    shutil.copytree(ROOT / "assets", tree / "assets")
    measured = tree / "assets" / "one_cache.json"  # too little: the page begins with these runs
    found = json.loads(measured.read_text("utf-8"))
    del found["points"]["averaged-128"]
    measured.write_text(json.dumps(found), "utf-8")
    trained = tree / "assets" / "trained"
    plan = json.loads((trained / "plan.json").read_text("utf-8"))
    made.write(trained, list(every_run(plan)), plan)
    assert not read(trained).not_run()
    with running(folder=tree, root=tree) as app:
        yield app.url


def test_the_words_of_every_run_can_be_read(full, chromium):
    """On both screens, in both languages, with all variants and as many seeds as are planned."""
    context = new_context(chromium, WIDE)
    page = context.new_page()
    walk(page, f"{full}/compression?lang=en&quality_task=recall")
    everything(page)
    for language in ("en", "zh"):
        if language == "zh":
            speak(page, "zh")
        for size in (WIDE, PHONE):
            resized(page, size)
            assert unreadable(page) == [], (language, size)
    assert "38 / 38" in page.locator(".stMain").inner_text().replace("38/38", "38 / 38")
    context.close()


def point(page: Page, name: str) -> Locator:
    return page.locator(f'{POINT}[aria-label="{name}"]')


def middle(page: Page, name: str) -> tuple[float, float]:
    box = point(page, name).locator(".ring").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def said(page: Page, name: str) -> int:
    return int(point(page, name).get_attribute("aria-valuenow"))


def a_percent(page: Page) -> float:
    """Return the pixels of one point of the axis, by the axis' own ticks."""
    heights = {
        int(tick.text_content()): tick.bounding_box()["y"]
        for tick in page.locator(".st-key-quality-cache .ytick text").all()
    }
    least, most = min(heights), max(heights)
    return (heights[least] - heights[most]) / (most - least)


def test_a_guess_is_drawn_before_the_measured_marks_appear(full, chromium):
    context = new_context(chromium, WIDE)
    page = context.new_page()
    walk(page, f"{full}/compression?lang=en&ask=1")
    expect(page.locator(POINT)).to_have_count(5)
    assert page.locator(MARKS).evaluate(SEEN) == "0"
    start, (x, y), down = said(page, "MQA 32"), middle(page, "MQA 32"), a_percent(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 30 * down, steps=4)
    page.mouse.up()
    assert said(page, "MQA 32") == pytest.approx(start - 30, abs=PERCENT)
    assert {said(page, name) for name in ("GQA 64", "MLA 32")} == {start}

    (x, y), (left, _) = middle(page, "MLA 64"), middle(page, "MLA 16")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(left, y + 40 * down)  # at a stroke: what lies on the way is drawn, too
    page.mouse.up()
    way = (x - middle(page, "MLA 32")[0]) / (x - left)
    assert said(page, "MLA 16") == pytest.approx(start - 40, abs=PERCENT)
    assert said(page, "MLA 32") == pytest.approx(start - 40 * way, abs=PERCENT)

    point(page, "GQA 64").focus()
    for key in ("PageDown", "ArrowDown", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    assert said(page, "GQA 64") == start - 9
    drawn = {name: said(page, name) for name in ("MQA 32", "MLA 32")}
    expect(page.locator(f"{CARD} .show")).to_have_text("Show")
    page.keyboard.press("Enter")

    told = page.locator(f"{CARD} .tells")
    expect(told).to_contain_text(f"MQA {drawn['MQA 32']} %, MLA {drawn['MLA 32']} %")
    expect(page.locator(MARKS)).to_have_css("opacity", "1")
    expect(page.locator(".drawing .dot")).to_have_count(6)
    expect(page.locator(POINT)).to_have_count(0)
    page.reload()
    settle(page)
    expect(told).to_contain_text(f"MQA {drawn['MQA 32']} %")
    assert page.locator(MARKS).evaluate(SEEN) == "1"
    page.locator(f"{CARD} .again").click()
    expect(page.locator(POINT)).to_have_count(5)
    assert page.locator(MARKS).evaluate(SEEN) == "0"
    page.locator(f"{CARD} .show").click()  # just show me
    expect(told).to_contain_text(re.compile("^Measured: MQA 32 .*MLA 32"))
    expect(page.locator(".drawing")).to_have_count(0)
    walk(page, f"{full}/notation?lang=en")
    expect(page.locator(".drawing")).to_have_count(0)
    context.close()


def test_a_finger_drags_a_point_and_scrolls_beside_it(full, chromium):
    context = chromium.new_context(viewport=PHONE, has_touch=True, locale="en-US")
    page = context.new_page()
    walk(page, f"{full}/compression?lang=zh&ask=1")
    point(page, "MLA 16").scroll_into_view_if_needed()
    settle(page)
    fingers = context.new_cdp_session(page)

    def drag(x: float, y: float, by: float) -> None:
        for name, at in (("touchStart", y), ("touchMove", y + by / 2), ("touchMove", y + by)):
            points = [{"x": x, "y": at}]
            fingers.send("Input.dispatchTouchEvent", {"type": name, "touchPoints": points})
        fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    start, (x, y), down = said(page, "MLA 16"), middle(page, "MLA 16"), a_percent(page)
    drag(x, y, 20 * down)
    assert said(page, "MLA 16") == pytest.approx(start - 20, abs=PERCENT)
    before = {name: said(page, name) for name in ("GQA 64", "MQA 32", "MLA 64", "MLA 32", "MLA 16")}
    drag(middle(page, "MQA 32")[0], y + 60 * down, 10)  # between the points: that is the page's
    assert {name: said(page, name) for name in before} == before
    box = page.locator(CARD).bounding_box()
    assert box["x"] + box["width"] <= PHONE["width"]
    context.close()


REAL = ".st-key-cmp-one_cache"


def test_a_perplexity_is_drawn_on_a_logarithmic_axis(show):
    """A point that goes up by as much as lies between two ticks is as many times as large."""
    page = show("compression?lang=en&ask=1")
    expect(page.locator(POINT)).to_have_count(2)
    assert page.locator(f"{REAL} .scatterlayer").evaluate(SEEN) == "0"
    heights = {
        float(tick.text_content().replace(",", "")): tick.bounding_box()["y"]
        for tick in page.locator(f"{REAL} .ytick text").all()
    }
    first, (x, y) = said_of(page, "heads averaged"), middle(page, "heads averaged")
    up = heights[1000] - heights[10000]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - up, steps=4)
    page.mouse.up()
    assert said_of(page, "heads averaged") == pytest.approx(10 * first, rel=0.03)
    point(page, "latent by text").focus()
    latent = said_of(page, "latent by text")
    page.keyboard.press("ArrowUp")
    assert said_of(page, "latent by text") == pytest.approx(1.1 * latent, rel=0.01)
    page.keyboard.press("Home")
    assert said_of(page, "latent by text") >= 10, "the axis ends there"
    drawn = round(said_of(page, "heads averaged"))
    page.keyboard.press("Enter")
    expect(page.locator(f"{CARD} .tells")).to_contain_text(f"heads averaged {drawn:,}")
    expect(page.locator(f"{REAL} .scatterlayer")).to_have_css("opacity", "1")


def said_of(page: Page, name: str) -> float:
    return float(point(page, name).get_attribute("aria-valuenow"))


def test_a_line_at_the_top_leads_to_the_parts_below(show):
    page = show("compression?lang=en")
    page.get_by_role("link", name="inside a layer").click()
    heading = page.get_by_role("heading", name=re.compile("^Inside layer"))
    expect(heading).to_be_in_viewport()
