"""Measures what a new visitor waits for and is sent until the first picture, beside a bare page.

    python benchmarks/first_load.py
    python benchmarks/first_load.py --pages overview --visits 9

Each visit is a browser without a cache; the servers are warm. The bare page has a picture of the
same kind: where ours begins with a chart, a slider and as many heatmaps as stand in the window;
where it begins with the scene, an SVG drawn by a component of its own, beside a sidebar. Bytes are
those of all files and of the websocket, as they are sent. In turns, in one headless Chromium.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.measuring import NOISY, Bare, bare_app, our_app, report, spread
from ui.handout.browser import FLAGS, chromium_path

GOAL = 1.1
MOST_SPREAD = 0.3  # of the middle half of the bare page's visits
WINDOW = {"width": 1280, "height": 720}
CHART = ".js-plotly-plot .main-svg"
SCENE = ".still img:visible, .scene svg:visible"
KINDS = {  # by its address; one with a setting asks no question before its chart
    "overview": ("", SCENE, Bare(scene=True)),
    "kv_cache": ("kv_cache?seed=0", CHART, Bare()),
}


class Bytes:
    """The bytes that a visit is sent, by what they are."""

    def __init__(self, session: CDPSession) -> None:
        self.kinds: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        session.on("Network.responseReceived", self._named)
        session.on("Network.loadingFinished", self._loaded)
        session.on("Network.webSocketFrameReceived", self._framed)
        session.send("Network.enable")

    def _named(self, event: dict) -> None:
        self._names[event["requestId"]] = event["type"]

    def _loaded(self, event: dict) -> None:
        self.kinds[self._names.get(event["requestId"], "Other")] += event["encodedDataLength"]

    def _framed(self, event: dict) -> None:
        self.kinds["Websocket"] += len(event["response"]["payloadData"]) * 3 // 4  # in base64


def visit(browser: Browser, address: str, picture: str) -> tuple[float, Counter[str]]:
    """Seconds until the picture is there and has been painted, and the bytes until then."""
    context = browser.new_context(viewport=WINDOW, locale="en-US")
    page = context.new_page()
    page.set_default_timeout(120_000)
    sent = Bytes(context.new_cdp_session(page))
    begin = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator(picture).first.wait_for()
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
    taken = time.perf_counter() - begin
    context.close()
    return taken, sent.kinds


def measured(browser: Browser, ours: str, name: str, visits: int) -> dict[str, object]:
    """A row of the table."""
    address, picture, kind = KINDS[name]
    beside_picture = "svg.picture" if kind.scene else CHART
    own, beside = [], []
    with bare_app(kind) as bare:
        for _ in range(visits + 1):
            own.append(visit(browser, f"{ours}/{address}", picture))
            beside.append(visit(browser, bare.url, beside_picture))
    times, bare_times = ([taken for taken, _ in side[1:]] for side in (own, beside))
    sent, bare_sent = (side[-1][1] for side in (own, beside))
    quarters = statistics.quantiles(bare_times, n=4)
    steady = spread([quarters[0], statistics.median(bare_times), quarters[2]]) <= MOST_SPREAD
    median, bare_median = statistics.median(times), statistics.median(bare_times)
    return {
        "page": name,
        "s": median,
        "bare s": bare_median,
        "ratio": median / bare_median if steady else NOISY,
        "kB": round(sent.total() / 1000),
        "bare kB": round(bare_sent.total() / 1000),
        "bytes ratio": sent.total() / bare_sent.total(),
        **{
            f"{kind} kB": f"{sent[kind] // 1000}/{bare_sent[kind] // 1000}" for kind in sorted(sent)
        },
    }


def main() -> int:
    """Measure and print; 1 if the goal is not reached or a ratio could not be told."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", nargs="*", default=list(KINDS))
    parser.add_argument("--visits", type=int, default=7)
    given = parser.parse_args()
    with our_app() as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        rows = [measured(browser, app.url, name, given.visits) for name in given.pages]
        browser.close()
    report("first_load", rows, goal=GOAL, most_spread=MOST_SPREAD, visits=given.visits)
    told = [row[kind] for row in rows for kind in ("ratio", "bytes ratio")]
    return int(any(ratio == NOISY or ratio > GOAL for ratio in told))


if __name__ == "__main__":
    sys.exit(main())
