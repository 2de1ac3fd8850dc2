"""Wait in a browser test for a state of the page, never for a time.

First the test waits for what its action must bring (an address, a text); then, before it reads the
page at a stroke, it lets it settle.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from playwright.sync_api import Locator, Page, TimeoutError

from tests import patience
from tests.browser.shifts import SHIFTS, WATCH
from ui.handout.browser import SETTLED

Found = TypeVar("Found")
# A press may wait for its page, and a wish for the answer that shows it.
PRESSED = "((all) => all?.presses.length || all?.wish || all?.redrawn)(document.mlaWishes)"
ANSWERED = f"() => !window.unanswered && !({PRESSED}) && ({SETTLED})()"
WHY = """() => ({
  unanswered: window.unanswered, asked: window.asked, fonts: document.fonts.status,
  ...document.querySelector("[data-testid=stApp]")?.dataset,
  skeletons: document.querySelectorAll("[data-testid$=Skeleton]").length,
  moving: document.getAnimations().map((one) => [one.playState, one.effect?.target?.className]),
  undrawn: [...document.querySelectorAll("[data-testid=stPlotlyChart]")]
    .filter((chart) => !chart.querySelector(".main-svg")).map((chart) => chart.ariaLabel),
})"""
AS_BACK = """there => {
  history.pushState({}, "", there);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
# A bar of progress is seen only where a run takes long, which the machine decides, not the page.
NO_ROOM = ".stElementContainer:has(> [data-testid=stProgress]) { position: absolute; }"
FRAME = "() => new Promise(requestAnimationFrame)"
WIDTHS = """parts => parts.map(part => [part.getBoundingClientRect().width, part.outerHTML])
    .map(([width, text]) => [width, text.slice(0, 80)])"""


def settle(page: Page) -> None:
    """Wait until the server has answered all that was asked, and the page shows it, at rest."""
    try:
        page.wait_for_function(ANSWERED)
    except TimeoutError as late:
        raise AssertionError(f"never at rest: {page.evaluate(WHY)}") from late


def listening(page: Page) -> None:
    """Settle, and wait until the page hears a clicker."""
    settle(page)
    page.wait_for_function("() => !!document.mlaWishes?.send")


def everything(page: Page) -> None:
    """Draw every section of the page, in sight or not, as for printing."""
    page.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")
    settle(page)


def door(page: Page, name: str) -> Locator:
    """Return the navigation's link to a page, its group opened."""
    exactly = re.compile(f"^{re.escape(name)}$")
    link = page.get_by_test_id("stPageLink-NavLink").filter(has_text=exactly)
    group = page.locator("[class*=st-key-pages_]").filter(has=link)
    if group.locator("details[open]").count() == 0:
        group.locator("summary").click()
        settle(page)  # it opens by and by, and the link moves with it
    return link


def menu(page: Page) -> Locator:
    """Open and return the page's quiet menu."""
    page.locator(".st-key-menu button").first.click()
    return page.get_by_test_id("stPopoverBody")


def walk(page: Page, address: str) -> None:
    """Open an address; where the app is open already, as the Back button does, which is quicker."""
    if page.get_by_test_id("stApp").count():
        page.evaluate(AS_BACK, address)
    else:
        page.goto(address)
    settle(page)


def frames(page: Page, count: int) -> None:
    """Let the page go on for so many frames, to see that nothing happens."""
    for _ in range(count):
        page.evaluate(FRAME)


def until(page: Page, look: Callable[[], Found], holds: Callable[[Found], bool] = bool) -> Found:
    """Return the first result of `look` that holds, or the last one, for the test to judge."""
    end = time.monotonic() + patience.SECONDS
    while not holds(found := look()) and time.monotonic() < end:
        frames(page, 1)
    return found


@contextmanager
def nothing_shifts(page: Page) -> Iterator[None]:
    """Assert that nothing outside charts moves meanwhile, by the browser's own record.

    But for the room that a bar of progress takes meanwhile.
    """
    page.add_style_tag(content=NO_ROOM)
    page.evaluate(WATCH)
    yield
    settle(page)
    moved = page.evaluate(SHIFTS)
    assert not moved, moved


def wider(page: Page, parts: str, width: int) -> list[str]:
    """Return the parts that are wider once they have followed the window."""
    settle(page)

    def found() -> list[str]:
        each = page.locator(parts).evaluate_all(WIDTHS)
        return [text for own, text in each if own > width]

    return until(page, found, lambda names: not names)
