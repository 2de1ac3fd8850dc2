"""Presses at any time, in bursts, on a slow machine: none is lost, and no page stays empty."""

import re
from collections.abc import Callable, Iterator
from random import Random

import pytest
from playwright.sync_api import Page

from mla_engine import worked_example
from tests.browser.conftest import Show
from tests.browser.waiting import listening, settle, until
from ui.frame.story import steps

pytestmark = pytest.mark.browser
SIZE = {"width": 1280, "height": 720}
KEYS = {1: "PageDown", -1: "PageUp"}
BURSTS, MOST = 34, 5  # of each way; about 100 presses
SLOWER = 1, 4, 10  # times
REST_MILLISECONDS = 500
REST = "(time) => new Promise((rested) => setTimeout(rested, time))"
# The address, the title, and how far the page is scrolled.
PLACE = """() => {
  const title = document.querySelector("h1")?.innerText ?? "";
  const { scrollTop } = document.querySelector("[data-testid=stMain]");
  return [location.pathname + location.search, title, Math.round(scrollTop)];
}"""


def bursts(seed: int) -> Iterator[tuple[int, float, list[int]]]:
    """Yield how much slower the processor is, milliseconds of rest before, and the presses."""
    chance = Random(seed)
    for number in range(BURSTS):
        slower = SLOWER[number * len(SLOWER) // BURSTS]
        presses = [chance.choice((1, 1, 1, -1)) for _ in range(chance.randint(1, MOST))]
        yield slower, chance.uniform(0, REST_MILLISECONDS), presses


def pressed(page: Page, seed: int, check: Callable[[list[int]], None]) -> None:
    """Press in bursts, and check each once all is answered."""
    processor = page.context.new_cdp_session(page)
    for slower, rest, presses in bursts(seed):
        page.bring_to_front()
        processor.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        page.evaluate(REST, rest)
        for by in presses:
            page.keyboard.press(KEYS[by])
        settle(page)
        check(presses)
    processor.send("Emulation.setCPUThrottlingRate", {"rate": 1})


def at(page: Page, name: str) -> int:
    found = re.search(rf"[?&]{name}=(\d+)", page.url)
    return int(found[1]) if found else 1


def test_in_the_story_the_address_is_where_the_count_says(show: Show):
    page = show("absorption?stop=24&lecture=1", SIZE)
    listening(page)
    wanted = 24

    def check(presses: list[int]) -> None:
        nonlocal wanted
        for by in presses:
            wanted = min(len(steps()), max(1, wanted + by))
        assert at(page, "stop") == wanted, presses
        assert page.locator("h1").count() == 1
        assert f"{wanted} / {len(steps())}" in page.locator(".st-key-lecture_ways").inner_text()

    pressed(page, 1, check)


def test_in_the_worked_example_the_address_is_where_the_count_says(show: Show):
    page = show("worked_example?we_completed=0&we_step=8", SIZE)
    listening(page)
    wanted, last = 8, len(worked_example.steps("mla"))

    def check(presses: list[int]) -> None:
        nonlocal wanted
        for by in presses:
            wanted = min(last, max(1, wanted + by))
        assert at(page, "we_step") == wanted, presses
        heading = page.locator(".st-key-we_stage h3:not(.ahead)").inner_text()
        assert f"{wanted} of {last}" in heading

    pressed(page, 2, check)


def test_through_a_lecture_bursts_lead_where_single_presses_lead(show: Show, app_url: str):
    page = show("kv_cache?lecture=1", SIZE)
    calm = page.context.new_page()  # which is pressed once at a time
    calm.set_viewport_size(SIZE)
    calm.goto(f"{app_url}/kv_cache?lecture=1")
    for one in (page, calm):
        one.emulate_media(reduced_motion="reduce")
        listening(one)

    def check(presses: list[int]) -> None:
        calm.bring_to_front()
        for by in presses:
            calm.keyboard.press(KEYS[by])
            settle(calm)
        # the dial of a picture that moves is told when it rests
        same = until(page, lambda: page.evaluate(PLACE) == calm.evaluate(PLACE))
        assert same, (presses, page.evaluate(PLACE), calm.evaluate(PLACE))
        assert page.locator("h1").inner_text()

    pressed(page, 3, check)
    calm.close()
