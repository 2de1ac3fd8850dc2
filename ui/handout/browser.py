"""A server of our own and a headless Chromium that looks at it, for pictures and for tests."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from ui import ROOT

PATIENCE_MILLISECONDS = 120_000  # that a page may take on a busy machine
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """Where Chromium is: $CHROMIUM or the one on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert found, "no Chromium found: tests/find_browser.sh installs one"
    return found


@contextmanager
def server(script: Path) -> Iterator[str]:
    """A Streamlit server for `script`, up and answering."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--server.port", str(port), "--server.headless", "true"]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *options]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                urllib.request.urlopen(f"{url}/_stcore/health").read()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        running.terminate()
        running.wait(10)


def settle(page: Page) -> None:
    """Wait until the app is connected, its script has run and nothing is a placeholder."""
    page.wait_for_selector('[data-testid="stApp"][data-test-connection-state="CONNECTED"]')
    page.wait_for_timeout(150)  # a change needs a moment to reach the server
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')")
