"""The first seconds of a visit: piles that come by themselves and end as the scene."""

import io
from collections.abc import Callable, Iterator

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page, expect

from mla_engine import PRESETS
from tests.browser.conftest import new_context
from tests.browser.looks import PHONE
from tests.browser.waiting import door, nothing_shifts, settle
from ui.settings.shared import PUBLISHED

pytestmark = pytest.mark.browser
LAPTOP = {"width": 1440, "height": 900}
PLAYING, SCENE = ".scene.opening", ".st-key-scene_box[data-drawn]"
FORGET = "sessionStorage.clear()"
CORNER = {"x": 300, "y": 60}
HALF, SECOND = 500, 1000  # milliseconds
# What is there to see: the words, and of each pile its height, its upper edge, and its words.
FRAME = """scene => {
  const svg = scene.querySelector("svg"), top = svg.getBoundingClientRect().top;
  const seen = (one, least = 0.2) => Number(getComputedStyle(one).opacity) > least;
  const pile = (one) => {
    const rects = [...one.querySelectorAll("rect")].filter((rect) => seen(rect));
    const boxes = rects.map((rect) => rect.getBoundingClientRect());
    const [first, last] = [Math.min, Math.max].map((of, n) =>
      of(...boxes.map((box) => (n ? box.bottom : box.top))));
    return { high: boxes.length ? last - first : 0, over: top - first,
      said: [...one.querySelectorAll("text")].filter((text) => seen(text, 0.99))
        .map((text) => text.textContent) };
  };
  const words = [...scene.querySelectorAll(".word")].filter((one) => seen(one));
  return { words: words.map((one) => one.textContent),
    piles: [...scene.querySelectorAll(".pile")].map(pile) };
}"""


@pytest.fixture
def first_visit(chromium: Browser, app_url: str) -> Iterator[Callable[[str, dict], Page]]:
    """`first_visit("?lang=zh", PHONE)` opens the overview in a browser that was never here."""
    contexts = []

    def opened(path: str = "", size: dict = LAPTOP, *, clock: bool = False) -> Page:
        context = new_context(chromium, size, first_visit=True)
        contexts.append(context)
        page = context.new_page()
        if clock:
            page.clock.install()
        page.goto(f"{app_url}/{path}")
        return page

    yield opened
    for context in contexts:
        context.close()


def shot(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.locator(SCENE).screenshot())).convert("RGB")


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_two_piles_on_one_scale_come_by_themselves_and_end_as_the_scene(first_visit, size):
    page = first_visit("", size, clock=True)
    page.locator(PLAYING).wait_for()
    settle(page)
    page.clock.pause_at(page.evaluate("Date.now() + 1"))
    asked = page.evaluate("window.asked")
    with nothing_shifts(page):
        frames = []
        while page.locator(PLAYING).count():
            frames.append(page.locator(PLAYING).evaluate(FRAME))
            page.clock.run_for(HALF)
        page.clock.resume()
    assert page.evaluate("window.asked") == asked
    at_work = [frame for frame in frames if frame["words"] and frame["piles"]]
    counts = [len(frame["words"]) for frame in at_work]
    assert counts == sorted(counts), "word by word"
    assert counts[-1] == 8
    compared = [frame for frame in at_work if frame["piles"][1]["said"]][-1]
    soon = frames[3 * SECOND // HALF]
    assert len(soon["words"]) == 8
    assert soon["piles"][0]["over"] > 0, "out of the frame within three seconds"
    assert soon["piles"][1]["said"][-2] == compared["piles"][1]["said"][-2]
    config = PRESETS[PUBLISHED].config
    each = 2 * config.n_heads * config.d_head, config.d_latent_kv + config.d_rope
    standard, latent = compared["piles"]
    assert standard["said"][-2] == f"MHA: {8 * each[0]:,} numbers"
    assert latent["said"][-2] == f"MLA: {8 * each[1]:,} numbers"
    assert latent["high"] / standard["high"] == pytest.approx(each[1] / each[0], rel=0.01)
    assert standard["over"] > 0, "out of the frame"
    assert latent["over"] < 0
    page.locator(SCENE).wait_for()

    still = page.context.new_page()
    still.emulate_media(reduced_motion="reduce")
    still.goto(page.url)
    settle(still)
    still.locator(SCENE).wait_for()
    assert still.locator(PLAYING).count() == 0
    settle(page)
    assert ImageChops.difference(shot(page), shot(still)).getbbox() is None


SKIPS = {
    "its button": lambda page: page.get_by_role("button", name="Skip").click(),
    "a press anywhere": lambda page: page.locator(f"{PLAYING} .picture").click(position=CORNER),
    "Escape": lambda page: page.keyboard.press("Escape"),
    "a key that scrolls": lambda page: page.keyboard.press("PageDown"),
    "the wheel": lambda page: page.mouse.wheel(0, 200),
}


def test_it_is_skipped_and_comes_once_a_visit(first_visit, app_url):
    page = first_visit(clock=True)
    for name, skip in SKIPS.items():
        page.locator(PLAYING).wait_for()
        settle(page)
        skip(page)
        expect(page.locator(PLAYING)).to_have_count(0)
        assert page.locator(".opened").count() == 0, name
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        expect(page.locator(".steps output")).to_have_text("8 tokens: 4,608 numbers kept")
        assert page.url == f"{app_url}/", name
        page.evaluate(FORGET)
        page.reload()
    page.locator(PLAYING).wait_for()
    settle(page)
    door(page, "RoPE").click()
    page.wait_for_url("**/rope")
    settle(page)
    for back in (lambda: door(page, "Overview").click(), page.reload):
        back()
        page.locator(SCENE).wait_for()
        settle(page)
        assert page.locator(PLAYING).count() == 0


def test_an_address_that_says_what_it_shows_is_shown_at_once(first_visit):
    page = first_visit("?variant=mla_absorbed")
    for path in ("?variant=mla_absorbed", "?lecture=1", "?stop=3", "?room=7KQMW3XD"):
        page.goto(page.url.partition("?")[0] + path)
        settle(page)
        page.locator(SCENE).wait_for()
        assert page.locator(PLAYING).count() == 0, path
    page.goto(page.url.partition("?")[0] + "?lang=zh")
    page.locator(PLAYING).wait_for()
