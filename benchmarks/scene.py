"""How smoothly the scene moves on a slow phone, and how early a first visit shows it.

    python benchmarks/scene.py

Frames: intervals between animation frames in a window of 390x844, the processor slowed four times,
while one variant turns into the next and while tokens pass. First visit: in a new browser, the
server warm, until the first sentence and a still of the scene can be seen, beside the first text
of a bare page, by turns.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ui.handout.browser import FLAGS, chromium_path, server, settle  # noqa: E402 - by the path

PHONE, SLOWER = {"width": 390, "height": 844}, 4
STALL = 1000 / 30  # milliseconds
ALLOWED = 0.3  # seconds that a first visit may take beyond a bare page
VISITS = 7
BARE = 'import streamlit as st\nst.write("A sentence.")\n'
VARIANTS = "MHA", "GQA", "MQA", "MLA, expanded", "MLA, absorbed"
# Each interval between two frames while something moves, or while tokens pass.
WATCH = """(node) => {
  const { scene } = node.closest(".frame");
  window.intervals = { moving: [], playing: [] };
  let before = null;
  const look = (now) => {
    const kind = scene.svg.dataset.moving !== undefined ? "moving" : scene.playing && "playing";
    if (kind && before && before.kind === kind) window.intervals[kind].push(now - before.now);
    before = kind ? { kind, now } : null;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
# When a sentence and a picture were first there, from the beginning of the visit.
FIRST = """() => {
  window.seen = {};
  const marks = { sentence: ".stMarkdown p", still: ".still img" };
  const look = () => {
    for (const [name, mark] of Object.entries(marks)) {
      if (!(name in seen) && document.querySelector(mark)) seen[name] = performance.now();
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


@contextmanager
def new_page(browser: Browser, **options: object) -> Iterator[Page]:
    """A page with an empty cache."""
    context = browser.new_context(locale="en-US", **options)
    page = context.new_page()
    page.set_default_timeout(120_000)
    yield page
    context.close()


def frames(browser: Browser, url: str) -> dict[str, list[float]]:
    """Milliseconds between frames, of what moves and of what plays."""
    with new_page(browser, viewport=PHONE) as page:
        page.goto(f"{url}/?variant=mha")
        settle(page)
        steps = page.locator(".steps")
        steps.wait_for()
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        steps.evaluate(WATCH)
        for variant in VARIANTS[1:]:
            page.get_by_role("radio", name=variant, exact=True).click()
            settle(page)
            page.locator(".scene svg[role=group]:not([data-moving])").wait_for()
        page.get_by_role("button", name="Play").click()
        page.get_by_role("button", name="Pause").wait_for()
        page.get_by_role("button", name="Play").wait_for()
        return page.evaluate("window.intervals")


def first(browser: Browser, url: str) -> dict[str, float]:
    """Seconds until the first sentence, and until the still where there is one."""
    with new_page(browser, viewport={"width": 1280, "height": 720}) as page:
        page.add_init_script(f"({FIRST})()")
        page.goto(url)
        settle(page)
        return {name: taken / 1000 for name, taken in page.evaluate("window.seen").items()}


def visits(browser: Browser, url: str) -> tuple[float, float, float]:
    """Medians: a bare page's text, our first sentence, our still."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bare.py"
        script.write_text(BARE, "utf-8")
        with server(script) as bare:
            pairs = [(first(browser, bare), first(browser, url)) for _ in range(VISITS + 1)][1:]
    bare_text = statistics.median(least["sentence"] for least, _ in pairs)
    ours = (statistics.median(seen[name] for _, seen in pairs) for name in ("sentence", "still"))
    return bare_text, *ours


def main() -> int:
    """Print them; 1 if half of the frames stall, or the first visit is beyond the limit."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        with server(ROOT / "app.py") as url:
            taken = frames(browser, url)
            bare, sentence, still = visits(browser, url)
        browser.close()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, processor {SLOWER}x slower")
    for kind, intervals in taken.items():
        median, late = statistics.median(intervals), statistics.quantiles(intervals, n=20)[-1]
        smooth = sum(one <= STALL for one in intervals) / len(intervals)
        told = f"median {median:.0f} ms, p95 {late:.0f} ms, {smooth:.0%} under {STALL:.0f} ms"
        print(f"{kind:8} {len(intervals):4} frames: {told}")
    print(f"first text of a bare page {bare:.2f} s; sentence {sentence:.2f} s, still {still:.2f} s")
    stalls = any(statistics.median(intervals) > STALL for intervals in taken.values())
    return int(stalls or max(sentence, still) > bare + ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
