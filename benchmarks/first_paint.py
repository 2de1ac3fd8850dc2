"""Times the first painting of the maps on top of their page: a real server, headless Chromium.

    python benchmarks/first_paint.py

Beside each other: a bare page's first load in a new browser; the click on a preset, the server
warm, its layer not yet built; the preset's link in a new browser. Every repetition has a seed of
its own, so that no run is answered from the cache. Chromium: $CHROMIUM or the one on the path.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ui.handout.browser import chromium_path, server  # noqa: E402 - found by the path

REPEATS = 3
LIMIT_SECONDS = 5.0
FLAGS = ["--no-sandbox", "--disable-gpu"]
WINDOW = {"width": 1920, "height": 1080}
CHARTS = 2  # tiles and one head; what lies below waits until it is reached
IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'
PAINTED = f"""() => {{
  const plots = [...document.querySelectorAll(".js-plotly-plot")].slice(0, {CHARTS});
  return plots.length === {CHARTS}
    && plots.every((plot) => !plot.dataset.before && plot.querySelector(".heatmaplayer image"))
    && !document.querySelector("[data-testid=stSkeleton]");
}}"""
ELSEWHERE = "Small"  # where the reader is before the click
CASES = (
    # name, tokens, heads to run, the preset
    ("DeepSeek-V3, 1 head of 128, 64 tokens", 64, 1, "DeepSeek-V3 "),
    ("DeepSeek-V2-Lite, 16 heads, 256 tokens", 256, 16, "DeepSeek-V2-Lite"),
    ("DeepSeek-V3.2, 1 head of 128 and its indexer, 256 tokens", 256, 1, "DeepSeek-V3.2"),
)


@contextmanager
def new_page(browser: Browser) -> Iterator[Page]:
    """A page with an empty cache."""
    context = browser.new_context(viewport=WINDOW, locale="en-US")
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


def painted(page: Page) -> None:
    """Wait for the maps of the present run, and for two frames more."""
    page.wait_for_function(PAINTED)
    page.wait_for_selector(IDLE)
    page.wait_for_function(PAINTED)
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")


def pick(page: Page, preset: str) -> float:
    """Choose a preset behind the model's chip; seconds from the choice to the maps."""
    page.locator(".st-key-model_chip button").first.click()
    box = page.locator('[data-testid="stPopoverBody"] [data-testid="stSelectbox"] input').first
    box.click()
    box.fill(preset)
    option = page.locator('[role="option"]').first
    option.wait_for()
    page.evaluate(
        'document.querySelectorAll(".js-plotly-plot").forEach((p) => (p.dataset.before = "1"))'
    )
    start = time.perf_counter()
    option.click()
    painted(page)
    return time.perf_counter() - start


def bare(browser: Browser) -> float:
    """The first load of a page with one sentence on it."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bare.py"
        script.write_text('import streamlit as st\nst.write("A sentence.")\n')
        with server(script) as url:
            times = [_first_sentence(browser, url) for _ in range(REPEATS + 1)]
    return statistics.median(times[1:])  # the first one also starts the server's imports


def _first_sentence(browser: Browser, url: str) -> float:
    with new_page(browser) as page:
        start = time.perf_counter()
        page.goto(url)
        page.get_by_text("A sentence.").wait_for()
        return time.perf_counter() - start


def case(browser: Browser, url: str, tokens: int, heads: int, preset: str) -> tuple[float, float]:
    """Median seconds of the click on the preset and of its link in a new browser."""
    clicks, links = [], []
    for seed in range(1, REPEATS + 1):
        address = f"{url}/attention_maps?map_generated={tokens}&map_run={heads}"
        with new_page(browser) as page:
            page.goto(address)
            painted(page)
            pick(page, ELSEWHERE)
            page.goto(f"{page.url}&seed={seed}")
            painted(page)
            clicks.append(pick(page, preset))
            link = page.url.replace(f"seed={seed}", f"seed={seed + 1000}")
        with new_page(browser) as page:
            start = time.perf_counter()
            page.goto(link)
            painted(page)
            links.append(time.perf_counter() - start)
    return statistics.median(clicks), statistics.median(links)


def main() -> int:
    """Measure and print; 1 if a limit is broken."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        first_load = bare(browser)
        print(f"{os.cpu_count()} cores, medians of {REPEATS}")
        print(f"{'bare page, new browser':44}{first_load:6.2f} s")
        broken = 0
        with server(ROOT / "app.py") as url:
            for name, *what in CASES:
                click, link = case(browser, url, *what)
                print(name)
                for kind, seconds, limit in (
                    ("preset clicked", click, LIMIT_SECONDS),
                    ("link, new browser", link, LIMIT_SECONDS + first_load),
                ):
                    broken += seconds > limit
                    print(f"  {kind:42}{seconds:6.2f} s of {limit:.2f} s")
        browser.close()
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
