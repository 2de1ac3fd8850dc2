"""One real server and one headless Chromium for all browser tests."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from mla_engine.checkpoints import build_demo
from ui.engine.folders import VARIABLE
from ui.handout.browser import FLAGS, PATIENCE_MILLISECONDS, chromium_path
from ui.parts.real_layer import DEMO

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


expect.set_options(timeout=PATIENCE_MILLISECONDS)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that is up and warm."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    log = (tmp_path_factory.mktemp("server") / "log.txt").open("w")
    # Tests of pages in this process read other folders.
    own = {name: value for name, value in os.environ.items() if name != VARIABLE}
    server = subprocess.Popen(command, cwd=ROOT, env=own, stdout=log, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                if urllib.request.urlopen(f"{url}/_stcore/health").read() == b"ok":
                    break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(10)
        log.close()


@pytest.fixture(scope="session")
def demo() -> str:
    """The demonstration model, where the server looks for it."""
    if not (ROOT / DEMO / "tokenizer.json").exists():
        build_demo(ROOT / DEMO)
    return DEMO


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def browser_page(chromium: Browser) -> Iterator[Page]:
    """A fresh session at the size of a lecture hall's projector."""
    context = chromium.new_context(viewport={"width": 1920, "height": 1080}, locale="en-US")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    yield page
    context.close()
