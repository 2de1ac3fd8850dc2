"""How long a press of the story takes until its step is said and drawn, beside a bare rerun.

    python benchmarks/story.py            every step, forward, then once more
    python benchmarks/story.py --steps 8  the first ones

The first walk builds what the second one finds. A bare rerun is a button of an app that shows one
line. Said: the sentence stands; drawn: the run has ended and every chart is there.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ui.frame.story import steps  # noqa: E402 - found by the path
from ui.handout.browser import FLAGS, chromium_path, server, settle  # noqa: E402

LIMIT_SECONDS = 0.3  # beyond a bare rerun
BARE = 'import streamlit as st\nst.button("on", key="on")\nst.write(f"at {st.session_state.on}")\n'
RUNS = 10
LISTENS = "() => !!(document.mlaClicker && document.mlaClicker.send)"
DRAWN = """() => document.querySelector("[data-test-script-state=notRunning]")
  && [...document.querySelectorAll("[data-testid=stPlotlyChart]")].every(
    (chart) => chart.querySelector(".main-svg"))"""


def bare(browser: Browser) -> float:
    """Seconds that a button takes in an app of one line, the median."""
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bare.py"
        script.write_text(BARE, "utf-8")
        with server(script) as url:
            page = browser.new_page()
            page.goto(url)
            for _ in range(RUNS):
                settle(page)
                begin = time.perf_counter()
                page.get_by_role("button", name="on").click()
                expect(page.get_by_text("at True")).to_be_visible()
                taken.append(time.perf_counter() - begin)
                page.reload()
            page.close()
    return statistics.median(taken)


def walk(page: Page, url: str, count: int) -> list[tuple[float, float]]:
    """Seconds until each of the next steps is said, and until it is drawn."""
    page.goto(f"{url}/?variant=mha&stop=1&lecture=1")
    taken = []
    for number in range(2, count + 1):
        settle(page)
        page.wait_for_function(LISTENS)
        begin = time.perf_counter()
        page.keyboard.press("PageDown")
        expect(page.locator(".st-key-lecture_says")).to_contain_text(steps()[number - 1].say["en"])
        said = time.perf_counter() - begin
        page.wait_for_function(DRAWN)
        taken.append((said, time.perf_counter() - begin))
    return taken


def main() -> int:
    """Print them; 1 if the second walk's median is beyond the limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=len(steps()))
    given = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        least = bare(browser)
        print(f"a bare rerun: {least:.2f} s")
        with server(ROOT / "app.py") as url:
            page = browser.new_page(viewport={"width": 1280, "height": 720}, locale="en-US")
            page.set_default_timeout(120_000)
            walks = [walk(page, url, given.steps) for _ in range(2)]
        browser.close()
    for number, (first, second) in enumerate(zip(*walks, strict=True), start=2):
        told = ", ".join(f"said {said:.2f} drawn {drawn:.2f}" for said, drawn in (first, second))
        print(f"{number:2} {steps()[number - 1].page:16} {told}")
    medians = [statistics.median(said for said, _ in taken) for taken in walks]
    print(f"median until it is said: {medians[0]:.2f} s first, {medians[1]:.2f} s again")
    return int(medians[1] > least + LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
