"""Counts what two visits are sent: uncompressed, by the app, and through deploy/'s nginx.

    python benchmarks/first_bytes.py

Bytes of all files and of the websocket, as they are sent, in one headless Chromium; a second visit
has what the browser kept of the first. Needs nginx.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.first_load import KINDS, WINDOW, Bytes
from tests.deploy.proxied import processes, proxy
from ui.handout.browser import FLAGS, SETTLED, chromium_path

PLAIN = {"Accept-Encoding": "identity"}


def visit(context: BrowserContext, address: str, picture: str, headers: dict[str, str]) -> int:
    """The bytes until the first picture is there and the server has said all."""
    page = context.new_page()
    page.set_default_timeout(120_000)
    network = context.new_cdp_session(page)
    sent = Bytes(network)
    network.send("Network.setExtraHTTPHeaders", {"headers": headers})
    page.goto(address)
    page.locator(picture).first.wait_for()
    page.wait_for_function(SETTLED)
    page.close()
    return sent.kinds.total()


def visits(browser: Browser, address: str, picture: str, headers: dict[str, str]) -> str:
    """The bytes of two visits, in kB."""
    context = browser.new_context(viewport=WINDOW, locale="en-US")
    twice = [visit(context, address, picture, headers) for _ in range(2)]
    context.close()
    return " | ".join(f"{bytes_ / 1000:,.0f} kB" for bytes_ in twice)


def main() -> None:
    """The command."""
    with (
        tempfile.TemporaryDirectory() as hub,
        processes(1, hub) as app,
        proxy(app.ports) as front,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        own = app.app(app.ports[0]).url
        ways = {"uncompressed": (own, PLAIN), "app": (own, {}), "nginx": (front.url, {})}
        print("| page | from | first visit | second visit |\n|---|---|---|---|")
        for page, (address, picture, _) in KINDS.items():
            for name, (url, headers) in ways.items():
                told = visits(browser, f"{url}/{address}", picture, headers)
                print(f"| {page} | {name} | {told} |")


if __name__ == "__main__":
    main()
