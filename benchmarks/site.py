"""Measure a first visit of a static copy: bytes, first picture, first change; after make site.

Bytes are counted as a server sends them that compresses text (gzip, level 6), as most do.
"""

import argparse
import gzip
import statistics
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ui.handout.browser import FLAGS, chromium_path, settle  # noqa: E402 - found by the path

TEXTS = ".js", ".css", ".html", ".json"
VARIANTS = "MHA", "GQA", "MQA", "MLA, absorbed"
STILL = "() => document.querySelector('#still img')?.complete"
LEAD = ".st-key-lead"


class Quiet(SimpleHTTPRequestHandler):
    """A file server that keeps no log."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def sent(body: bytes, path: str) -> int:
    """Return the bytes that go over the line for a file."""
    return len(gzip.compress(body, 6)) if path.endswith(TEXTS) else len(body)


def visit(page: Page, url: str, folder: Path) -> tuple[int, float, float]:
    """Open a page with an empty cache: bytes, seconds to its still, and to the page at rest."""
    fetched: set[str] = set()
    page.on("request", lambda asked: fetched.add(asked.url.partition("?")[0].removeprefix(url)))
    began = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_function(STILL)
    still = time.perf_counter() - began
    settle(page)
    whole = time.perf_counter() - began
    files = [folder / (path if not path.endswith("/") else f"{path}index.html") for path in fetched]
    files = [file / "index.html" if file.is_dir() else file for file in files]
    bodies = [(file.read_bytes(), file.name) for file in files if file.is_file()]
    return sum(sent(*one) for one in bodies), still, whole


def switch(page: Page, name: str) -> float:
    """Choose a variant; the seconds until the page says so."""
    before = page.locator(LEAD).inner_text()
    began = time.perf_counter()
    page.locator(".st-key-variant").get_by_text(name, exact=True).click()
    changed = "([selector, was]) => document.querySelector(selector).innerText !== was"
    page.wait_for_function(changed, arg=[LEAD, before])
    return time.perf_counter() - began


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "build/site")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=given.site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        visits, switches = [], []
        for _ in range(given.repeat):
            page = browser.new_context(locale="en-US").new_page()
            visits.append(visit(page, url, given.site))
            switches += [switch(page, name) for name in VARIANTS]
            page.context.close()
        browser.close()
    n_bytes, still, whole = map(statistics.median, zip(*visits, strict=True))
    print(f"first visit {n_bytes / 1e6:.2f} MB, still {still:.2f} s, at rest {whole:.2f} s")
    print(f"variant {statistics.median(switches):.2f} s, slowest {max(switches):.2f} s")


if __name__ == "__main__":
    main()
