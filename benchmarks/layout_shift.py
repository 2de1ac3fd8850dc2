"""What moves on the screen when a slider moves, by the browser's own layout-shift metric.

    python benchmarks/layout_shift.py                   every page, its first slider
    python benchmarks/layout_shift.py --every rope      every slider of a page
    python benchmarks/layout_shift.py --window 390x844

A shift counts whatever caused it, also within half a second of a key; the slider's own parts and
what lies in a chart or a formula are left out. Beside the value stand the elements that moved.
"""

import argparse
import sys
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ui.frame.rooms import PAGES  # noqa: E402 - found by the path
from ui.handout.browser import FLAGS, chromium_path, server, settle  # noqa: E402
from ui.handout.shifts import SHIFTS, WATCH  # noqa: E402

STEPS = 2  # of the slider, there and back


def moved(page: Page, slider: Locator) -> tuple[float, list[str]]:
    """The shift as the slider goes up and down again, and what moved."""
    page.evaluate(WATCH)
    for key in ["ArrowRight"] * STEPS + ["ArrowLeft"] * STEPS:
        slider.press(key)
        settle(page)
    found = page.evaluate(SHIFTS)
    return sum(shift["value"] for shift in found), [one for s in found for one in s["moved"]]


def sliders(page: Page) -> list[Locator]:
    """The page's own first, then those of the sidebar."""
    own = page.locator("[data-testid=stMain] input[type=range]")
    beside = page.locator("[data-testid=stSidebar] input[type=range]")
    return [one.nth(n) for one in (own, beside) for n in range(one.count())]


def main() -> int:
    """Measure and print; 1 if anything outside a chart moves."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", default=list(PAGES))
    parser.add_argument("--every", action="store_true", help="every slider, not the first alone")
    parser.add_argument("--window", default="1280x720")
    parser.add_argument("--query", default="lang=en")
    given = parser.parse_args()
    width, height = map(int, given.window.split("x"))
    worst = 0.0
    with server(ROOT / "app.py") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height}, locale="en-US")
        page.set_default_timeout(120_000)
        for name in given.pages:
            page.goto(f"{url}/{name.replace('overview', '')}?{given.query}")
            settle(page)
            there = sliders(page)
            for slider in there if given.every else there[:1]:
                value, what = moved(page, slider)
                worst = max(worst, value)
                label = slider.get_attribute("aria-label")
                seen = "; ".join(dict.fromkeys(what))
                print(f"{name:16} {label!s:32.32} {value:.4f} {seen}", flush=True)
        browser.close()
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
